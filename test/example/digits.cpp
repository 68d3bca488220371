/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digits of many pictures at once, in C++17. Reads pictures as 64 numbers from 0 to 16 each, prints a digit for each.
 */
#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>
#include "digits.h"

namespace {

using picture = std::array<float, 64>;
using probabilities = std::array<float, 10>;

/* Owns the memory of runs. Each thread needs a classifier of its own. */
class classifier
{
public:
    classifier() = default;
    classifier(const classifier &) = delete;
    classifier &operator=(const classifier &) = delete;

    std::vector<probabilities> classify(const std::vector<picture> &pictures)
    {
        digits_call call{};
        call.extents.n = static_cast<std::int64_t>(pictures.size());
        prepare(call);
        std::vector<probabilities> results(pictures.size());
        call.pictures = pictures.front().data();
        call.probabilities = results.front().data();
        weft_rt_error error;
        if (digits_run(&call, &workspace, &error) != WEFT_RT_OK) throw std::runtime_error(error.message);
        return results;
    }

private:
    /* Memory for this number of pictures, unless the last call was for the same. */
    void prepare(const digits_call &call)
    {
        if (call.extents.n == prepared && prepared > 0) return;
        weft_rt_workspace needed{};
        weft_rt_error error;
        if (digits_prepare(&call, &needed, nullptr, &error) != WEFT_RT_OK) throw std::runtime_error(error.message);
        memory = std::make_unique<std::byte[]>(needed.size);
        workspace = needed;
        workspace.memory = memory.get();
        prepared = call.extents.n;
    }

    std::unique_ptr<std::byte[]> memory;
    weft_rt_workspace workspace{};
    std::int64_t prepared = 0;
};

std::vector<picture> read(std::istream &input)
{
    std::vector<picture> pictures;
    std::size_t count = 0;
    for (float gray; input >> gray; count++) {
        if (count % 64 == 0) pictures.emplace_back();
        pictures.back()[count % 64] = gray / 16;
    }
    if (!input.eof() || count % 64 != 0) throw std::runtime_error("pictures are 64 numbers each");
    return pictures;
}

} // namespace

int main()
{
    try {
        classifier digits;
        for (const probabilities &p : digits.classify(read(std::cin)))
            std::cout << std::max_element(p.begin(), p.end()) - p.begin() << '\n';
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
