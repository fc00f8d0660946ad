#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace waybill::engine {

/// Nodes of a map that were taken out, kept for the next key: what comes and goes a million times
/// neither allocates nor frees. The mapped type has reset(), which keeps the capacity of its vectors.
template <class Map>
class NodePool {
public:
    using Node = typename Map::node_type;

    /// The value of a key the map does not have, as if fresh.
    typename Map::mapped_type& insert(Map& map, const typename Map::key_type& key) {
        if (spare_.empty()) {
            return map.try_emplace(key).first->second;
        }
        Node node = std::move(spare_.back());
        spare_.pop_back();
        node.key() = key;
        return map.insert(std::move(node)).position->second;
    }
    void erase(Map& map, typename Map::const_iterator place) { keep(map.extract(place)); }
    void keep(Node node) {
        if (spare_.size() < kMost) {
            node.mapped().reset();
            spare_.push_back(std::move(node));
        }
    }

private:
    /// Enough for what is in flight; a backlog that ends gives its memory back.
    static constexpr std::size_t kMost = 4096;
    std::vector<Node> spare_{};
};

}  // namespace waybill::engine
