//! The page of a change report.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "html_report/samples.rs"]
mod samples;

use cdkr::report::html;

#[test]
fn write_pages() {
    let dir = std::path::PathBuf::from(std::env::var_os("CDKR_PAGES").unwrap());
    for (name, report) in [
        ("small", samples::shop()),
        ("empty", Default::default()),
        ("large", samples::large(5000, 40)),
        ("full", samples::large(5000, 100)),
    ] {
        let start = std::time::Instant::now();
        let page = html(&report, "Shop, production");
        println!("{name} {} bytes {:?}", page.len(), start.elapsed());
        std::fs::write(dir.join(format!("{name}.html")), page).unwrap();
    }
}
