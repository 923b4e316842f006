// Pipelines, flow graphs, and containers that wait.
#include "user.hpp"

namespace {

// --- pipelines ---------------------------------------------------------------------------------------------

TEST(tbb_pipelines, order_and_the_bound_of_tokens) {
    for (const auto input : {tbb::filter_mode::serial_in_order, tbb::filter_mode::serial_out_of_order}) {
        constexpr int n = 2000;
        std::atomic<int> live{0};
        std::atomic<int> most{0};
        std::atomic<int> serial{0};
        std::atomic<int> overlaps{0};
        std::vector<int> out;
        int next = 0;
        tbb::parallel_pipeline(
            4, tbb::make_filter<void, int>(input,
                                           [&](tbb::flow_control& control) {
                                               if (next == n) {
                                                   control.stop();
                                                   return 0;
                                               }
                                               most = std::max(most.load(), ++live);
                                               return next++;
                                           }) &
                   tbb::make_filter<int, std::string>(tbb::filter_mode::parallel,
                                                      [](int i) { return std::to_string(i); }) &
                   tbb::make_filter<std::string, std::string>(tbb::filter_mode::serial_out_of_order,
                                                              [&](std::string s) {
                                                                  overlaps += serial++ != 0;
                                                                  --serial;
                                                                  return s;
                                                              }) &
                   tbb::make_filter<std::string, void>(tbb::filter_mode::serial_in_order,
                                                       [&](const std::string& s) {
                                                           out.push_back(std::stoi(s));
                                                           --live;
                                                       }));
        EXPECT_LE(most, 4);
        EXPECT_EQ(overlaps, 0);
        ASSERT_EQ(out.size(), std::size_t{n});
        if (input == tbb::filter_mode::serial_in_order) {
            EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
        }
        std::sort(out.begin(), out.end());
        for (int i = 0; i < n; ++i) {
            ASSERT_EQ(out[static_cast<std::size_t>(i)], i);
        }
    }
}

TEST(tbb_pipelines, a_parallel_input) {
    std::atomic<int> next{0};
    std::atomic<long> sum{0};
    tbb::parallel_pipeline(
        8, tbb::make_filter<void, int>(tbb::filter_mode::parallel, [&](tbb::flow_control& control) {
               const int i = next++;
               if (i >= 1000) {
                   control.stop();
               }
               return i;
           }) & tbb::make_filter<int, void>(tbb::filter_mode::serial_in_order, [&](int i) { sum += i; }));
    EXPECT_EQ(sum, 999 * 1000 / 2);
}

TEST(tbb_pipelines, one_stage_and_one_token) {
    int calls = 0;
    tbb::parallel_pipeline(
        1, tbb::make_filter<void, void>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
            if (++calls == 100) {
                control.stop();
            }
        }));
    EXPECT_EQ(calls, 100);
}

TEST(tbb_pipelines, an_item_of_a_cancelled_pipeline_enters_no_further_stage) {
    int first = 0;
    int second = 0;
    const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    tbb::parallel_pipeline(
        4, tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control&) {
               if (++first == 3) {
                   tbb::task::current_context()->cancel_group_execution();
               }
               return first;
           }) & tbb::make_filter<int, void>(tbb::filter_mode::serial_in_order, [&](int) { ++second; }));
    EXPECT_EQ(first, 3);
    EXPECT_LE(second, 2);
}

TEST(tbb_pipelines, an_exception_drops_the_items_in_flight) {
    struct counted {
        explicit counted(std::atomic<int>& n) : live(&n) { ++*live; }
        counted(const counted& other) : live(other.live) { ++*live; }
        counted& operator=(const counted&) = default;
        ~counted() { --*live; }
        std::atomic<int>* live;
    };
    std::atomic<int> live{0};
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> n{0};
        EXPECT_THROW(tbb::parallel_pipeline(
                         8, tbb::make_filter<void, counted>(tbb::filter_mode::serial_in_order,
                                                            [&](tbb::flow_control& control) {
                                                                if (++n == 500) {
                                                                    control.stop();
                                                                }
                                                                return counted(live);
                                                            }) &
                                tbb::make_filter<counted, counted>(tbb::filter_mode::parallel,
                                                                   [](const counted& c) { return c; }) &
                                tbb::make_filter<counted, void>(tbb::filter_mode::serial_in_order,
                                                                [&](const counted&) {
                                                                    if (n > 100) {
                                                                        throw std::length_error("stage");
                                                                    }
                                                                })),
                     std::length_error);
        EXPECT_EQ(live, 0);
    }
}

TEST(tbb_pipelines, pipelines_in_stages) {
    std::atomic<int> items{0};
    int outer = 0;
    tbb::parallel_pipeline(
        4, tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
               if (outer == 20) {
                   control.stop();
               }
               int inner = 0;
               tbb::parallel_pipeline(
                   2,
                   tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& c) {
                       if (inner == 10) {
                           c.stop();
                       }
                       return inner++;
                   }) & tbb::make_filter<int, void>(tbb::filter_mode::parallel, [](int) {}));
               return outer++;
           }) & tbb::make_filter<int, void>(tbb::filter_mode::parallel, [&](int) { ++items; }));
    EXPECT_EQ(items, 20);
}

// --- flow graphs -------------------------------------------------------------------------------------------

TEST(tbb_graphs, functions_joins_and_limits) {
    namespace flow = tbb::flow;
    flow::graph g;
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::vector<int> out;
    flow::function_node<int, int> squares(g, flow::unlimited, [](int i) { return i * i; });
    flow::function_node<int, int> limited(g, 1, [&](int i) {
        most = std::max(most.load(), ++inside);
        --inside;
        return i;
    });
    flow::join_node<std::tuple<int, int>, flow::queueing> pairs(g);
    flow::function_node<std::tuple<int, int>> sink(g, flow::serial, [&](const std::tuple<int, int>& t) {
        out.push_back(std::get<0>(t) + std::get<1>(t));
    });
    flow::make_edge(squares, flow::input_port<0>(pairs));
    flow::make_edge(limited, flow::input_port<1>(pairs));
    flow::make_edge(pairs, sink);
    for (int i = 0; i < 500; ++i) {
        squares.try_put(i);
        limited.try_put(i);
    }
    g.wait_for_all();
    EXPECT_EQ(out.size(), 500U);
    EXPECT_EQ(most, 1);
    EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0L), 499L * 500 / 2 + 499L * 500 * 999 / 6);
}

TEST(tbb_graphs, priorities_and_an_input_node) {
    namespace flow = tbb::flow;
    flow::graph g;
    int next = 0;
    flow::input_node<int> input(g, [&](tbb::flow_control& control) {
        if (next == 300) {
            control.stop();
        }
        return next++;
    });
    std::atomic<int> sum{0};
    flow::function_node<int, int> high(
        g, flow::unlimited, [&](int i) { return sum += i, i; }, flow::node_priority_t(10));
    flow::function_node<int, int> low(
        g, flow::unlimited, [&](int i) { return sum += i, i; }, flow::node_priority_t(1));
    flow::make_edge(input, high);
    flow::make_edge(high, low);
    input.activate();
    g.wait_for_all();
    EXPECT_EQ(sum, 2 * 299 * 300 / 2);
}

TEST(tbb_graphs, a_graph_in_an_isolated_region) {
    namespace flow = tbb::flow;
    std::atomic<int> sum{0};
    tbb::parallel_for(0, 8, [&](int) {
        tbb::this_task_arena::isolate([&] {
            flow::graph g;
            flow::function_node<int, int> first(
                g, flow::unlimited, [&](int i) { return sum += i, i; }, flow::node_priority_t(2));
            flow::function_node<int, int> second(g, flow::serial, [&](int i) { return sum += i, i; });
            flow::make_edge(first, second);
            for (int i = 0; i < 100; ++i) {
                first.try_put(i);
            }
            g.wait_for_all();
        });
    });
    EXPECT_EQ(sum, 8 * 2 * 99 * 100 / 2);
}

TEST(tbb_graphs, an_exception_ends_the_wait) {
    namespace flow = tbb::flow;
    flow::graph g;
    flow::function_node<int> node(g, flow::unlimited, [](int i) {
        if (i == 50) {
            throw std::runtime_error("node");
        }
    });
    for (int i = 0; i < 100; ++i) {
        node.try_put(i);
    }
    EXPECT_THROW(g.wait_for_all(), std::runtime_error);
    EXPECT_TRUE(g.exception_thrown());
}

// --- containers that wait ----------------------------------------------------------------------------------

TEST(tbb_containers, a_bounded_queue_blocks_both_ends) {
    tbb::concurrent_bounded_queue<int> queue;
    queue.set_capacity(4);
    constexpr int n = 20'000;
    std::atomic<long> sum{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&, t] {
            for (int i = t; i < n; i += 2) {
                queue.push(i);
            }
        });
        threads.emplace_back([&] {
            for (int i = 0; i < n / 2; ++i) {
                int x = 0;
                queue.pop(x);
                sum += x;
            }
        });
    }
    for (auto& t : threads) {
        t.join();
    }
    EXPECT_EQ(sum, long{n} * (n - 1) / 2);
    EXPECT_TRUE(queue.empty());
}

TEST(tbb_containers, abort_ends_all_waits) {
    for (int round = 0; round < 20; ++round) {
        tbb::concurrent_bounded_queue<int> empty;
        tbb::concurrent_bounded_queue<int> full;
        full.set_capacity(1);
        full.push(0);
        std::atomic<int> aborted{0};
        std::atomic<int> begun{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 2; ++t) {
            threads.emplace_back([&] {
                int x = 0;
                ++begun;
                try {
                    empty.pop(x);
                } catch (const tbb::user_abort&) {
                    ++aborted;
                }
            });
            threads.emplace_back([&] {
                ++begun;
                try {
                    full.push(1);
                } catch (const tbb::user_abort&) {
                    ++aborted;
                }
            });
        }
        ASSERT_TRUE(comes([&] { return begun == 4; }));
        // A wait that begins after abort() is not ended by it.
        EXPECT_TRUE(comes([&] {
            empty.abort();
            full.abort();
            return aborted == 4;
        }));
        for (auto& t : threads) {
            t.join();
        }
    }
}

TEST(tbb_containers, thread_specific_values_are_of_one_thread) {
    tbb::enumerable_thread_specific<int> counts(0);
    tbb::combinable<long> sums([] { return 0L; });
    std::atomic<int> wrong{0};
    tbb::parallel_for(0, 10'000, [&](int i) {
        int& mine = counts.local();
        const int before = mine++;
        tbb::this_task_arena::isolate([] { tbb::parallel_for(0, 3, [](int) {}); });
        wrong += &mine != &counts.local() || mine != before + 1;
        sums.local() += i;
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), 10'000);
    EXPECT_EQ(sums.combine(std::plus<>()), 9'999L * 10'000 / 2);
    EXPECT_LE(counts.size(), static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()));
}

TEST(tbb_containers, hash_maps_vectors_and_queues) {
    tbb::concurrent_hash_map<int, int> map;
    tbb::concurrent_vector<int> vector;
    tbb::concurrent_unordered_map<int, int> unordered;
    tbb::concurrent_priority_queue<int> priorities;
    tbb::parallel_for(0, 5'000, [&](int i) {
        tbb::concurrent_hash_map<int, int>::accessor a;
        map.insert(a, i % 100);
        a->second += 1;
        vector.push_back(i);
        unordered.insert({i, i});
        priorities.push(i);
    });
    EXPECT_EQ(map.size(), 100U);
    EXPECT_EQ(vector.size(), 5'000U);
    EXPECT_EQ(unordered.size(), 5'000U);
    int top = 0;
    EXPECT_TRUE(priorities.try_pop(top));
    EXPECT_EQ(top, 4'999);
    EXPECT_THROW((void)vector.at(10'000), std::out_of_range);
}

TEST(tbb_graphs, a_node_with_priority_runs_before_the_others) {
    tbb::task_arena alone(1); // no worker has a slot
    for (const bool is_first : {false, true}) {
        alone.execute([is_first] {
            tbb::flow::graph graph;
            std::string order;
            using node = tbb::flow::continue_node<tbb::flow::continue_msg>;
            node source(graph, [](auto&) {});
            node low(graph, [&](auto&) { order += "low "; });
            node high(
                graph, [&](auto&) { order += "high "; }, tbb::flow::node_priority_t(1));
            tbb::flow::make_edge(source, is_first ? high : low);
            tbb::flow::make_edge(source, is_first ? low : high);
            source.try_put(tbb::flow::continue_msg());
            graph.wait_for_all();
            EXPECT_EQ(order, "high low ");
        });
    }
}

TEST(tbb_graphs, other_threads_feed_graphs_that_all_threads_wait_for) {
    // All threads of the arena wait inside tasks, and what feeds the graphs comes from outside.
    using node = tbb::flow::async_node<int, int>;
    std::mutex mutex;
    std::vector<std::pair<int, node::gateway_type*>> given;
    std::atomic<bool> stop{false};
    std::thread outside([&] {
        while (!stop) {
            std::vector<std::pair<int, node::gateway_type*>> taken;
            {
                const std::lock_guard held(mutex);
                taken.swap(given);
            }
            for (auto [value, gateway] : taken) {
                gateway->try_put(value + 1);
                gateway->release_wait();
            }
            std::this_thread::yield();
        }
    });
    std::atomic<int> sum{0};
    tbb::parallel_for(0, 20, [&](int i) {
        tbb::flow::graph g;
        node ask(g, tbb::flow::unlimited, [&](int value, node::gateway_type& gateway) {
            gateway.reserve_wait();
            const std::lock_guard held(mutex);
            given.emplace_back(value, &gateway);
        });
        tbb::flow::function_node<int> add(g, tbb::flow::unlimited, [&](int value) { sum += value; });
        tbb::flow::make_edge(ask, add);
        ask.try_put(i);
        g.wait_for_all();
    });
    stop = true;
    outside.join();
    EXPECT_EQ(sum, 20 * 19 / 2 + 20);
}

} // namespace
