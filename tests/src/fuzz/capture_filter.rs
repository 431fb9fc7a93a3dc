//! Any bytes as a filter of a capture, and the rest as a frame. Promised: a program is refused in a
//! line, or it ends for every frame; a load beyond the frame is no match; and the prefilter refuses
//! no frame that the program takes.

use dataplane::capture::filter::Filter;
use dataplane::capture::program::Instruction;

/// Octets of an instruction, as `struct bpf_insn` has them.
const INSTRUCTION_BYTES: usize = 8;
/// What is behind the program, so that most programs return.
const RETURNS: [Instruction; 2] = [
    Instruction { code: 0x06, jt: 0, jf: 0, k: 0 },
    Instruction { code: 0x06, jt: 0, jf: 0, k: u32::MAX },
];

/// Reads a program, of as many instructions as the first octet says, and a frame.
pub fn run(data: &[u8]) {
    let Some((&count, rest)) = data.split_first() else { return };
    let (program, frame) =
        rest.split_at(rest.len().min(usize::from(count % 64) * INSTRUCTION_BYTES));
    let instruction = |bytes: &[u8; INSTRUCTION_BYTES]| {
        let [code, high, jt, jf, a, b, c, d] = *bytes;
        // Mostly codes of one octet, and small numbers: others are refused at once.
        let high = if high < 250 { 0 } else { high };
        let k = u32::from_le_bytes([a, b, c, d]);
        let k = if jt & 0x80 == 0 { k & 0x3F } else { k };
        Instruction { code: u16::from_le_bytes([code, high]), jt: jt & 0x0F, jf: jf & 0x0F, k }
    };
    let (program, _) = program.as_chunks::<INSTRUCTION_BYTES>();
    let program: Vec<Instruction> = program.iter().map(instruction).chain(RETURNS).collect();
    let filter = match Filter::new(&program) {
        Ok(filter) => filter,
        Err(why) => {
            let line = why.to_string();
            assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
            return;
        }
    };
    for frame_bytes in [frame.len(), frame.len() + 1_000] {
        let whole = filter.matches(frame, frame_bytes);
        // A frame too short for the prefilter is left to the program.
        assert_eq!(whole, filter.program_matches(frame, frame_bytes), "{program:?}");
    }
    for end in (0..frame.len()).step_by(7) {
        let piece = &frame[..end];
        assert_eq!(filter.matches(piece, end), filter.program_matches(piece, end), "{program:?}");
    }
}
