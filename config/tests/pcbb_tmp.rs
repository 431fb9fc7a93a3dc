use config::NetworkConfig;
use config::network::forwarding::FileForwarding;
#[test]
fn show() {
    for name in ["network.toml", "network-plain.toml"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pcbb").join(name);
        let config = NetworkConfig::load(&path).unwrap_or_else(|e| panic!("{e}"));
        let f = FileForwarding::new(&config).unwrap().unwrap();
        let t = std::time::Instant::now();
        let v = fabric::verify::forwarding::verify(&config.network, &f);
        println!("{name}: {} dest, {} states {} buffers {} waits {:?} free={}", f.destinations(), v.states, v.buffers, v.waits, t.elapsed(), v.is_deadlock_free());
        for w in &v.cycle { println!("  {} p{} out {} q{} {} -> {}: {}", config.network.show(w.input), w.held, config.network.port_name(w.departure.output), w.departure.queue, f.show(&w.headers), f.show(&w.departure.headers), f.cause(w.input, &w.headers, &w.departure)); }
        for g in &v.findings { println!("  {:?} at {} {} ({})", g.what, config.network.show(g.input), f.show(&g.headers), g.frames); }
    }
}
