//! Finds the installed libdpdk, generates bindings for the few names the switch uses, and compiles
//! the shim.

use std::env;
use std::path::PathBuf;

/// What the switch calls and reads; the types that these mention come along by themselves.
const FUNCTIONS: &[&str] = &[
    "rte_dev_event_callback_register",
    "rte_dev_event_monitor_start",
    "rte_dev_hotplug_handle_enable",
    "rte_dev_probe",
    "rte_dev_remove",
    "rte_eal_alarm_set",
    "rte_eal_get_runtime_dir",
    "rte_eal_init",
    "rte_eth_dev_callback_register",
    "rte_eth_dev_close",
    "rte_eth_dev_configure",
    "rte_eth_dev_flow_ctrl_get",
    "rte_eth_dev_flow_ctrl_set",
    "rte_eth_dev_get_mtu",
    "rte_eth_dev_info_get",
    "rte_eth_dev_set_mtu",
    "rte_eth_dev_start",
    "rte_eth_dev_set_link_down",
    "rte_eth_dev_set_link_up",
    "rte_eth_dev_stop",
    "rte_eth_dev_adjust_nb_rx_tx_desc",
    "rte_eth_iterator_cleanup",
    "rte_eth_iterator_init",
    "rte_eth_iterator_next",
    "rte_eth_macaddr_get",
    "rte_eth_promiscuous_enable",
    "rte_eth_rx_queue_setup",
    "rte_eth_stats_get",
    "rte_eth_tx_queue_setup",
    "rte_get_main_lcore",
    "rte_get_tsc_hz",
    "rte_log_set_global_level",
    "rte_mempool_avail_count",
    "rte_mempool_calc_obj_size",
    "rte_mempool_free",
    "rte_mempool_in_use_count",
    "rte_pktmbuf_copy",
    "rte_pktmbuf_free_bulk",
    "rte_strerror",
    "rte_thread_register",
    "rte_thread_unregister",
    "rte_version",
    "shim_.*",
];
const TYPES: &[&str] = &["rte_pktmbuf_pool_private", "shim_mbuf"];
const CONSTANTS: &[&str] = &[
    "RTE_DEV_EVENT_.*",
    "RTE_ETH_EVENT_INTR_RMV",
    "RTE_ETH_FC_.*",
    "RTE_LOG_ERR",
    "RTE_LOG_WARNING",
    "RTE_MAX_ETHPORTS",
    "RTE_MEMPOOL_CACHE_MAX_SIZE",
    "RTE_PKTMBUF_HEADROOM",
    "SHIM_.*",
    "SOCKET_ID_ANY",
];

/// The shared libraries that hold [`FUNCTIONS`]; the log is one of its own from 23.11 on. Drivers
/// are not among them: the EAL loads those from its plugin directory.
const LIBRARIES: &[&str] = &["rte_ethdev", "rte_mbuf", "rte_mempool", "rte_eal"];

fn main() {
    for file in ["wrapper.h", "shim.h", "shim.c", "layout.c"] {
        println!("cargo:rerun-if-changed=src/{file}");
    }
    let dpdk = pkg_config::Config::new()
        .range_version("22.11".."26.0")
        .cargo_metadata(false)
        .probe("libdpdk")
        .unwrap_or_else(|error| {
            panic!("libdpdk 22.11 to 25.11 (Debian: libdpdk-dev) is needed: {error}")
        });
    let mut flags = vec!["-include".to_owned(), "rte_config.h".to_owned(), march().to_owned()];
    flags.extend(dpdk.include_paths.iter().map(|path| format!("-I{}", path.display())));

    compile_shim(&flags);
    generate_bindings(&flags);
    for path in &dpdk.link_paths {
        println!("cargo:rustc-link-search=native={}", path.display());
    }
    let logs = is_from(&dpdk.version, (23, 11)).then_some("rte_log");
    for library in LIBRARIES.iter().copied().chain(logs) {
        println!("cargo:rustc-link-lib=dylib={library}");
    }
}

/// Whether a version of DPDK, such as `24.11.4`, is `least` or newer.
fn is_from(version: &str, least: (u32, u32)) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= least
}

/// The shim may use what the Rust code beside it uses, and never less than DPDK's headers demand
/// (`-march=corei7` in libdpdk.pc). Struct layouts do not depend on it.
fn march() -> &'static str {
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let v3 = ["avx2", "bmi1", "bmi2", "fma", "f16c", "lzcnt", "movbe"];
    if v3.iter().all(|needed| features.split(',').any(|has| has == *needed)) {
        "-march=x86-64-v3"
    } else {
        "-march=corei7"
    }
}

fn compile_shim(flags: &[String]) {
    let mut build = cc::Build::new();
    build.file("src/shim.c").file("src/layout.c").opt_level(3).warnings(true);
    // DPDK's own headers have deprecated and unused parts; only the shim's warnings are ours.
    build.flag("-Wno-unused-parameter").flag("-Wno-deprecated-declarations");
    for flag in flags {
        build.flag(flag);
    }
    build.compile("knotless_shim");
}

fn generate_bindings(flags: &[String]) {
    let mut builder = bindgen::Builder::default()
        .header("src/wrapper.h")
        .clang_args(flags)
        .use_core()
        .derive_debug(false)
        .derive_default(false)
        .generate_comments(false)
        .prepend_enum_name(false)
        .layout_tests(true);
    for name in FUNCTIONS {
        builder = builder.allowlist_function(name);
    }
    for name in TYPES {
        builder = builder.allowlist_type(name);
    }
    for name in CONSTANTS {
        builder = builder.allowlist_var(name);
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    builder
        .generate()
        .unwrap_or_else(|error| panic!("bindgen over src/wrapper.h: {error}"))
        .write_to_file(out.join("bindings.rs"))
        .expect("OUT_DIR can be written");
}
