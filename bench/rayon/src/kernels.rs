//! The kernels by rayon::join, after the same texts as the C++ ones. Sizes are in the order of main's SIZES.

use crate::uts;
use rayon::join;

pub trait Job: Send {
    fn stack_bytes(&self) -> usize {
        8 << 20
    }
    fn prepare(&mut self) {}
    fn run(&mut self);
    fn check(&self, spoil: bool) -> bool;
    fn answer(&self) -> String;
}

/// A kernel whose answer is one whole number.
struct Counting {
    function: Box<dyn Fn() -> u64 + Send + Sync>,
    expected: u64,
    result: u64,
    stack_bytes: usize,
}

impl Job for Counting {
    fn stack_bytes(&self) -> usize {
        self.stack_bytes
    }
    fn run(&mut self) {
        self.result = (self.function)();
    }
    fn check(&self, spoil: bool) -> bool {
        self.result + u64::from(spoil) == self.expected
    }
    fn answer(&self) -> String {
        self.result.to_string()
    }
}

/// The sum of f over first..last; the range is halved until one number is left.
pub fn fork_sum<F: Fn(u32) -> u64 + Sync>(first: u32, last: u32, f: &F) -> u64 {
    if last - first == 1 {
        return f(first);
    }
    let middle = first + (last - first) / 2;
    let (a, b) = join(|| fork_sum(first, middle, f), || fork_sum(middle, last, f));
    a + b
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn safe(queens: &[i8; 16], row: usize, column: i8) -> bool {
    (0..row).all(|i| {
        let distance = queens[i] - column;
        let rows = (row - i) as i8;
        distance != 0 && distance != rows && distance != -rows
    })
}

fn queens(board: &[i8; 16], row: usize, n: usize) -> u64 {
    if row == n {
        return 1;
    }
    let mut columns = [0i8; 16];
    let mut placements = 0;
    for column in 0..n as i8 {
        if safe(board, row, column) {
            columns[placements] = column;
            placements += 1;
        }
    }
    if placements == 0 {
        return 0;
    }
    fork_sum(0, placements as u32, &|i| {
        let mut next = *board;
        next[row] = columns[i as usize];
        queens(&next, row + 1, n)
    })
}

fn skynet(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let part = leaves / 10;
    fork_sum(0, 10, &|i| skynet(first + u64::from(i) * part, part))
}

struct Integrate {
    limit: f64,
    epsilon: f64,
    result: f64,
}

fn function(x: f64) -> f64 {
    (x * x + 1.0) * x
}

fn area(x1: f64, y1: f64, x2: f64, y2: f64, coarse: f64, epsilon: f64) -> f64 {
    let half = (x2 - x1) / 2.0;
    let x = x1 + half;
    let y = function(x);
    let left = (y1 + y) / 2.0 * half;
    let right = (y + y2) / 2.0 * half;
    if (left + right - coarse).abs() < epsilon {
        return left + right;
    }
    let (a, b) = join(|| area(x1, y1, x, y, left, epsilon), || area(x, y, x2, y2, right, epsilon));
    a + b
}

impl Job for Integrate {
    fn run(&mut self) {
        let (left, right) = (function(0.0), function(self.limit));
        let coarse = (left + right) / 2.0 * self.limit;
        self.result = area(0.0, left, self.limit, right, coarse, self.epsilon);
    }
    fn check(&self, spoil: bool) -> bool {
        let square = self.limit * self.limit;
        let exact = square * square / 4.0 + square / 2.0;
        (self.result + f64::from(u8::from(spoil)) - exact).abs() < 0.1
    }
    fn answer(&self) -> String {
        self.result.to_string()
    }
}

struct MergeSort {
    input: Vec<u32>,
    numbers: Vec<u32>,
    space: Vec<u32>,
}

const SORT_LEAF: usize = 256;
const MERGE_LEAF: usize = 2048;

fn sort(data: &mut [u32], space: &mut [u32], elsewhere: bool) {
    if data.len() <= SORT_LEAF {
        data.sort_unstable();
        if elsewhere {
            space.copy_from_slice(data);
        }
        return;
    }
    let half = data.len() / 2;
    {
        let (data1, data2) = data.split_at_mut(half);
        let (space1, space2) = space.split_at_mut(half);
        join(|| sort(data1, space1, !elsewhere), || sort(data2, space2, !elsewhere));
    }
    let (from, to) = if elsewhere { (&*data, space) } else { (&*space, data) };
    merge(&from[..half], &from[half..], to);
}

fn merge_serially<'a>(mut a: &'a [u32], mut b: &'a [u32], to: &mut [u32]) {
    for out in to {
        let from = if b.is_empty() || (!a.is_empty() && a[0] <= b[0]) { &mut a } else { &mut b };
        *out = from[0];
        *from = &from[1..];
    }
}

fn merge(a: &[u32], b: &[u32], to: &mut [u32]) {
    let (a, b) = if a.len() < b.len() { (b, a) } else { (a, b) };
    if to.len() <= MERGE_LEAF {
        return merge_serially(a, b, to);
    }
    let a_half = a.len() / 2;
    let b_half = b.partition_point(|value| *value < a[a_half]);
    let (a1, a2) = a.split_at(a_half);
    let (b1, b2) = b.split_at(b_half);
    let (to1, to2) = to.split_at_mut(a_half + b_half);
    join(|| merge(a1, b1, to1), || merge(a2, b2, to2));
}

fn hash(numbers: &[u32]) -> u64 {
    let term = |v: u64| (v + 1).wrapping_mul(v ^ 0x9e3779b97f4a7c15);
    numbers.iter().fold(0u64, |sum, value| sum.wrapping_add(term(u64::from(*value))))
}

impl MergeSort {
    fn new(n: usize) -> Self {
        let mut state = 42u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 32) as u32
        };
        let input: Vec<u32> = (0..n).map(|_| next()).collect();
        MergeSort { numbers: Vec::new(), space: vec![0; n], input }
    }
}

impl Job for MergeSort {
    fn prepare(&mut self) {
        self.numbers = self.input.clone();
    }
    fn run(&mut self) {
        sort(&mut self.numbers, &mut self.space, false);
    }
    fn check(&self, spoil: bool) -> bool {
        let sorted = self.numbers.windows(2).all(|pair| pair[0] <= pair[1]);
        sorted && hash(&self.numbers).wrapping_add(u64::from(spoil)) == hash(&self.input)
    }
    fn answer(&self) -> String {
        hash(&self.numbers).to_string()
    }
}

fn counting(expected: u64, function: impl Fn() -> u64 + Send + Sync + 'static) -> Option<Box<dyn Job>> {
    let stack_bytes = 8 << 20;
    Some(Box::new(Counting { function: Box::new(function), expected, result: 0, stack_bytes }))
}

/// The kernel of this name at this size.
pub fn job(kernel: &str, size: usize) -> Option<Box<dyn Job>> {
    match kernel {
        "fib" => {
            let (n, answer) =
                [(20, 6_765), (32, 2_178_309), (38, 39_088_169), (39, 63_245_986), (42, 267_914_296)][size];
            counting(answer, move || fib(n))
        }
        "nqueens" => {
            let (n, answer) = [(7, 40), (13, 73_712), (13, 73_712), (14, 365_596), (15, 2_279_184)][size];
            counting(answer, move || queens(&[0; 16], 0, n))
        }
        "skynet" => {
            let leaves = [1_000, 1_000_000, 100_000_000, 100_000_000, 100_000_000][size];
            counting(leaves * (leaves - 1) / 2, move || skynet(0, leaves))
        }
        "uts" => counting(uts::WIDE[size].nodes, move || uts::count(&uts::root(&uts::WIDE[size]), &uts::WIDE[size])),
        "uts_deep" => Some(Box::new(Counting {
            function: Box::new(move || uts::count(&uts::root(&uts::DEEP[size]), &uts::DEEP[size])),
            expected: uts::DEEP[size].nodes,
            result: 0,
            stack_bytes: [8, 64, 64, 64, 512][size] << 20,
        })),
        "integrate" => {
            let (limit, epsilon) =
                [(10.0, 1e-6), (500.0, 1e-8), (1000.0, 2e-11), (1000.0, 2e-11), (1000.0, 2e-11)][size];
            Some(Box::new(Integrate { limit, epsilon, result: 0.0 }))
        }
        "mergesort" => {
            Some(Box::new(MergeSort::new([20_000, 1_000_000, 10_000_000, 10_000_000, 50_000_000][size])))
        }
        _ => None,
    }
}
