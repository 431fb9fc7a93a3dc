//! The types of a source file as the references show them: fields and variants with their names in
//! files and their doc comments.

use std::collections::BTreeMap;
use std::fs;
use syn::{
    Attribute, Expr, ExprLit, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Type,
};
use tests::tree;

/// The structs and enums of some files, by name.
#[derive(Default)]
pub(super) struct Source {
    pub(super) types: BTreeMap<String, Shape>,
}

/// One type.
pub(super) struct Shape {
    pub(super) doc: String,
    pub(super) is_enum: bool,
    pub(super) members: Vec<Member>,
}

/// One field or variant.
pub(super) struct Member {
    /// As written in a file: renamed as serde or strum do.
    pub(super) name: String,
    pub(super) doc: String,
    /// Of a field; a variant has none.
    pub(super) kind: Option<Kind>,
    /// Whether a file must have it.
    pub(super) required: bool,
    /// Whether its own fields stand in its place.
    pub(super) flatten: bool,
    /// Whether it is left out.
    pub(super) skip: bool,
}

/// A field's type, without what only says where and how often it stands.
#[derive(Clone)]
pub(super) struct Kind {
    /// The innermost type's name.
    pub(super) name: String,
    pub(super) is_list: bool,
    pub(super) is_map: bool,
}

impl Source {
    /// Reads `files`, relative to the project's root.
    pub(super) fn read(files: &[&str]) -> Self {
        let mut source = Self::default();
        for file in files {
            let text = fs::read_to_string(tree::root().join(file))
                .unwrap_or_else(|e| panic!("{file}: {e}"));
            let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
            for item in parsed.items {
                source.add(item);
            }
        }
        source
    }

    fn add(&mut self, item: Item) {
        let (name, shape) = match item {
            Item::Struct(item) => {
                let Fields::Named(fields) = item.fields else { return };
                let members = fields.named.iter().map(field).collect();
                let shape = Shape { doc: doc(&item.attrs), is_enum: false, members };
                (item.ident.to_string(), shape)
            }
            Item::Enum(item) => {
                let style = attribute(&item.attrs, "rename_all")
                    .or_else(|| attribute(&item.attrs, "serialize_all"));
                let variant = |variant: &syn::Variant| Member {
                    name: attribute(&variant.attrs, "rename")
                        .unwrap_or_else(|| renamed(&variant.ident.to_string(), style.as_deref())),
                    doc: doc(&variant.attrs),
                    kind: None,
                    required: false,
                    flatten: false,
                    skip: false,
                };
                let members = item.variants.iter().map(variant).collect();
                (item.ident.to_string(), Shape { doc: doc(&item.attrs), is_enum: true, members })
            }
            _ => return,
        };
        self.types.insert(name, shape);
    }

    /// The type with this name, which must have been read.
    pub(super) fn shape(&self, name: &str) -> &Shape {
        self.types.get(name).unwrap_or_else(|| panic!("no type {name} was read"))
    }
}

fn field(field: &syn::Field) -> Member {
    let ident = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    let (kind, optional) = kind(&field.ty);
    let has = |word: &str| has_serde(&field.attrs, word);
    Member {
        name: attribute(&field.attrs, "rename").unwrap_or(ident),
        doc: doc(&field.attrs),
        required: !optional && !has("default"),
        kind: Some(kind),
        flatten: has("flatten"),
        skip: has("skip"),
    }
}

/// A type without its wrappers, and whether one of them makes it optional.
fn kind(ty: &Type) -> (Kind, bool) {
    match ty {
        Type::Array(array) => {
            let (kind, optional) = kind(&array.elem);
            (Kind { is_list: true, ..kind }, optional)
        }
        Type::Path(path) => {
            let last = path.path.segments.last().expect("a type has a name");
            let name = last.ident.to_string();
            let inner = |at: usize| match &last.arguments {
                PathArguments::AngleBracketed(arguments) => match arguments.args.iter().nth(at) {
                    Some(GenericArgument::Type(ty)) => kind_of(ty),
                    _ => panic!("{name} has a type argument"),
                },
                _ => panic!("{name} has type arguments"),
            };
            match name.as_str() {
                "Option" | "Field" => (inner(0).0, true),
                "Spanned" | "Box" => inner(0),
                "Vec" | "VecDeque" => (Kind { is_list: true, ..inner(0).0 }, false),
                "BTreeMap" => (Kind { is_map: true, ..inner(1).0 }, false),
                _ => (Kind { name, is_list: false, is_map: false }, false),
            }
        }
        // A tuple, a function: no reference says how to write these.
        _ => (Kind { name: "-".to_owned(), is_list: false, is_map: false }, false),
    }
}

fn kind_of(ty: &Type) -> (Kind, bool) {
    kind(ty)
}

/// The doc comment, as one paragraph or more.
fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else { return None };
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value else { return None };
        pair.path.is_ident("doc").then(|| text.value().trim().to_owned())
    });
    lines.collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// The text of `word = "..."` in a `serde` or `strum` attribute.
fn attribute(attributes: &[Attribute], word: &str) -> Option<String> {
    let text = tokens(attributes);
    let from = text.find(&format!("{word} = \""))? + word.len() + 4;
    text[from..].split('"').next().map(str::to_owned)
}

fn has_serde(attributes: &[Attribute], word: &str) -> bool {
    tokens(attributes).split([',', '(', ')', ' ']).any(|it| it == word)
}

fn tokens(attributes: &[Attribute]) -> String {
    let lists = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::List(list)
            if ["serde", "strum", "cfg_attr"].iter().any(|it| list.path.is_ident(it)) =>
        {
            Some(list.tokens.to_string())
        }
        _ => None,
    });
    lists.collect::<Vec<_>>().join(",")
}

/// A variant's name in a file.
fn renamed(name: &str, style: Option<&str>) -> String {
    let separator = match style {
        Some("snake_case") => "_",
        Some("kebab-case") => "-",
        Some("lowercase") => "",
        None => return name.to_owned(),
        Some(other) => panic!("the reference does not know the style {other}"),
    };
    let mut renamed = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !renamed.is_empty() {
            renamed += separator;
        }
        renamed.extend(character.to_lowercase());
    }
    renamed
}
