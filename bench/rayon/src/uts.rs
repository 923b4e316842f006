//! Unbalanced Tree Search: the generator and the trees of ../../common/uts.hpp.

use crate::kernels::fork_sum;

pub type Digest = [u32; 5];

pub enum Shape {
    Geometric { mean: f64, depth: u32 },
    Binomial { root: u32, probability: f64, children: u32 },
}

pub struct Tree {
    pub shape: Shape,
    pub seed: u32,
    pub nodes: u64,
}

pub struct Node {
    state: Digest,
    depth: u32,
}

/// SHA-1 (FIPS 180-4, section 6.1) of a message of at most 13 words.
fn sha1(message: &[u32]) -> Digest {
    const INITIAL: Digest = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
    let mut w = [0u32; 80];
    w[..message.len()].copy_from_slice(message);
    w[message.len()] = 0x80000000;
    w[15] = message.len() as u32 * 32;
    for t in 16..80 {
        w[t] = (w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16]).rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = INITIAL;
    for (t, word) in w.iter().enumerate() {
        let (f, k) = match t / 20 {
            0 => ((b & c) ^ (!b & d), 0x5a827999),
            1 => (b ^ c ^ d, 0x6ed9eba1),
            2 => ((b & c) ^ (b & d) ^ (c & d), 0x8f1bbcdc),
            _ => (b ^ c ^ d, 0xca62c1d6u32),
        };
        let next = a.rotate_left(5).wrapping_add(f).wrapping_add(e).wrapping_add(k).wrapping_add(*word);
        e = d;
        d = c;
        c = b.rotate_left(30);
        b = a;
        a = next;
    }
    let sums = [a, b, c, d, e];
    std::array::from_fn(|i| INITIAL[i].wrapping_add(sums[i]))
}

pub fn root(tree: &Tree) -> Node {
    Node { state: sha1(&[0, 0, 0, 0, tree.seed]), depth: 0 }
}

fn child(parent: &Node, number: u32) -> Node {
    let s = parent.state;
    Node { state: sha1(&[s[0], s[1], s[2], s[3], s[4], number]), depth: parent.depth + 1 }
}

fn children(node: &Node, tree: &Tree) -> u32 {
    let uniform = f64::from(node.state[4] & 0x7fffffff) / 2147483648.0;
    match tree.shape {
        Shape::Binomial { root, probability, children } => match node.depth {
            0 => root,
            _ if uniform < probability => children,
            _ => 0,
        },
        Shape::Geometric { depth, .. } if node.depth >= depth => 0,
        Shape::Geometric { mean, .. } => {
            let number = ((1.0 - uniform).ln() / (1.0 - 1.0 / (1.0 + mean)).ln()) as u32;
            number.min(100)
        }
    }
}

pub fn count(parent: &Node, tree: &Tree) -> u64 {
    let n = children(parent, tree);
    if n == 0 {
        return 1;
    }
    1 + fork_sum(0, n, &|i| count(&child(parent, i), tree))
}

const fn geometric(depth: u32, seed: u32, nodes: u64) -> Tree {
    Tree { shape: Shape::Geometric { mean: 4.0, depth }, seed, nodes }
}

const fn binomial(root: u32, probability: f64, children: u32, seed: u32, nodes: u64) -> Tree {
    Tree { shape: Shape::Binomial { root, probability, children }, seed, nodes }
}

const T1: Tree = geometric(10, 19, 4_130_071);
const T3: Tree = binomial(2000, 0.124875, 8, 42, 4_112_897);
pub const WIDE: [Tree; 5] = [geometric(5, 19, 3_987), T1, T1, T1, geometric(13, 29, 102_181_082)];
pub const DEEP: [Tree; 5] =
    [binomial(100, 0.12, 8, 42, 981), T3, T3, T3, binomial(2000, 0.200014, 5, 7, 111_345_631)];
