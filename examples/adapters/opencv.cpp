// OpenCV's loops run on a pool, also inside its tasks: no second set of threads.
#include <atomic>
#include <cstdio>
#include <memory>

#include <opencv2/core.hpp>
#include <pilfer/adapters/opencv.hpp>
#include <pilfer/pilfer.hpp>

int main() {
    pilfer::pool pool;
    pilfer::adapters::use_in_opencv(pool);

    std::atomic<int> rows{0};
    pool.run([&] {
        pilfer::for_each(0, 8, [&](int) {
            cv::Mat image(480, 640, CV_8U, cv::Scalar(0));
            cv::parallel_for_(cv::Range(0, image.rows), [&](const cv::Range& r) {
                for (int i = r.start; i < r.end; ++i) {
                    image.row(i).setTo(255);
                }
            });
            rows += cv::countNonZero(image) / image.cols;
        });
    });
    std::printf("8 images of 480 rows: %d\n", rows.load());
    cv::parallel::setParallelForBackend(std::shared_ptr<cv::parallel::ParallelForAPI>(),
                                        false); // before the pool ends
}
