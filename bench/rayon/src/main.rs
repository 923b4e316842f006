//! The kernels that are written for Rayon too. One binary; the name it is started under, bench-KERNEL-rayon,
//! says which kernel runs. Arguments and report are those of the C++ programs.

mod kernels;
mod uts;

use std::time::Instant;

struct Arguments {
    workers: usize,
    size: usize, // index into a kernel's table of sizes
    repeat: u32,
    spoil: bool,
}

const SIZES: [&str; 5] = ["tiny", "quick", "medium", "full", "large"];

fn usage(problem: &str) -> ! {
    eprintln!("{problem}\n--workers N --size {} --repeat R --spoil", SIZES.join("|"));
    std::process::exit(2)
}

fn parse() -> Arguments {
    let mut result = Arguments { workers: 1, size: 1, repeat: 1, spoil: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--spoil" {
            result.spoil = true;
            continue;
        }
        let value = words.next().unwrap_or_else(|| usage("a value is missing"));
        let number = || value.parse::<u32>().ok().filter(|n| (1..=4096).contains(n));
        match word.as_str() {
            "--workers" => result.workers = number().unwrap_or_else(|| usage("--workers: 1 to 4096")) as usize,
            "--repeat" => result.repeat = number().unwrap_or_else(|| usage("--repeat: 1 to 4096")),
            "--size" => {
                result.size = SIZES.iter().position(|s| *s == value).unwrap_or_else(|| usage("unknown size"))
            }
            _ => usage("unknown argument"),
        }
    }
    result
}

/// The highest resident size of this program alone; getrusage would count the starting process too.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn main() {
    let started_as = std::env::args().next().unwrap_or_default();
    let name = started_as.rsplit('/').next().unwrap_or("").to_string();
    let kernel = name.strip_prefix("bench-").and_then(|n| n.strip_suffix("-rayon")).unwrap_or("").to_string();
    let arguments = parse();
    let mut job = kernels::job(&kernel, arguments.size).unwrap_or_else(|| usage("start me as bench-KERNEL-rayon"));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(arguments.workers)
        .stack_size(job.stack_bytes())
        .build()
        .expect("cannot start the pool");
    let mut seconds = Vec::new();
    let mut ok = true;
    let mut answer = String::new();
    for round in 0..=arguments.repeat {
        job.prepare();
        let begin = Instant::now();
        pool.install(|| job.run());
        let time = begin.elapsed().as_secs_f64();
        ok = ok && job.check(arguments.spoil);
        answer = job.answer();
        if round > 0 {
            seconds.push(format!("{time:e}"));
        }
    }
    println!(
        "{{\"kernel\":\"{kernel}\",\"runtime\":\"rayon\",\"compiler\":\"{}\",\"workers\":{},\"size\":\"{}\",\
         \"seconds\":[{}],\"peak_kib\":{},\"ok\":{ok},\"answer\":{answer}}}",
        option_env!("BENCH_RUSTC").unwrap_or("rustc"),
        arguments.workers,
        SIZES[arguments.size],
        seconds.join(","),
        peak_kib()
    );
    std::process::exit(if ok { 0 } else { 1 })
}
