// Products of Eigen's tensors run on a pool, beside other tasks and inside them: one pool for all.
#include <cstdio>

#include <pilfer/adapters/eigen.hpp> // before Eigen
#include <pilfer/pilfer.hpp>
#include <unsupported/Eigen/CXX11/Tensor>

int main() {
    pilfer::pool pool;
    pilfer::adapters::eigen_pool threads(pool);
    const Eigen::ThreadPoolDevice device(&threads, threads.NumThreads());

    Eigen::Tensor<float, 2> a(200, 300);
    Eigen::Tensor<float, 2> b(300, 100);
    a.setConstant(1);
    b.setConstant(2);
    const Eigen::array<Eigen::IndexPair<int>, 1> rows_by_columns = {Eigen::IndexPair<int>(1, 0)};

    double sum = 0;
    pool.run([&] {
        // Eight tasks, and each of them waits for parts of its product. No worker is blocked meanwhile.
        sum = pilfer::reduce(
            0, 8, 0.0,
            [&](int) {
                Eigen::Tensor<float, 2> product(200, 100);
                product.device(device) = a.contract(b, rows_by_columns);
                return double(product(199, 99));
            },
            [](double x, double y) { return x + y; });
    });
    std::printf("eight times 600: %.0f\n", sum);
}
