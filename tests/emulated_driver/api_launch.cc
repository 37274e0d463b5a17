// Launches, and the number of resident blocks.
#include <span>

#include "tests/emulated_driver/api.h"
#include "tests/emulated_driver/model.h"

namespace tarsia::emulated {
namespace {

// Reads the attributes of a launch.
CuResult ReadAttributes(std::span<const CuLaunchAttribute> attributes, LaunchShape* shape) {
  for (const CuLaunchAttribute& attribute : attributes) {
    switch (attribute.id) {
      case kLaunchIgnore:
        continue;
      case kLaunchCooperative:
        shape->cooperative = attribute.value.flag != 0;
        continue;
      case kLaunchClusterDimension: {
        const unsigned* const cluster = attribute.value.cluster;
        shape->cluster = {cluster[0], cluster[1], cluster[2]};
        if (shape->cluster.Count() == 0) return kErrorInvalidValue;
        continue;
      }
      case kLaunchProgrammaticStreamSerialization:
        shape->programmatic = attribute.value.flag != 0;
        continue;
    }
    return kErrorNotSupported;
  }
  return kSuccess;
}

CuResult ReadConfig(const CuLaunchConfig* config, LaunchShape* shape) {
  if (config == nullptr || (config->attribute_count > 0 && config->attributes == nullptr)) {
    return kErrorInvalidValue;
  }
  *shape = {{config->grid[0], config->grid[1], config->grid[2]},
            {config->block[0], config->block[1], config->block[2]},
            config->shared_bytes};
  return ReadAttributes({config->attributes, config->attribute_count}, shape);
}

// `parameters` and `extra` are those of cuLaunchKernel.
CuResult Launch(Machine& machine, Context& context, CuFunction function, const LaunchShape& shape,
                CuStream stream, void** parameters, void** extra) {
  const std::shared_ptr<Function> found = Find(machine.functions, function);
  const std::shared_ptr<Stream> queue = FindStream(machine, context, stream);
  if (found == nullptr || queue == nullptr || found->context != &context) {
    return kErrorInvalidHandle;
  }
  if (const CuResult error = CheckShape(machine, *found, shape)) return error;
  std::vector<uint8_t> bytes;
  if (const CuResult error = ReadParameters(*found, parameters, extra, &bytes)) return error;
  return EnqueueKernel(queue, MakeLaunch(machine, found, shape, std::move(bytes)),
                       shape.programmatic);
}

}  // namespace

CuResult LaunchKernel(CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      CuStream stream, void** parameters, void** extra) {
  return CallInContext(symbols::kLaunchKernel, [&](Machine& machine, Context& context) {
    const LaunchShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
    return Launch(machine, context, function, shape, stream, parameters, extra);
  });
}

CuResult LaunchKernelEx(const CuLaunchConfig* config, CuFunction function, void** parameters,
                        void** extra) {
  return CallInContext(symbols::kLaunchKernelEx, [&](Machine& machine, Context& context) {
    LaunchShape shape;
    if (const CuResult error = ReadConfig(config, &shape)) return error;
    return Launch(machine, context, function, shape, config->stream, parameters, extra);
  });
}

CuResult LaunchCooperativeKernel(CuFunction function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, CuStream stream,
                                 void** parameters) {
  return CallInContext(symbols::kLaunchCooperativeKernel, [&](Machine& machine, Context& context) {
    LaunchShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
    shape.cooperative = true;
    return Launch(machine, context, function, shape, stream, parameters, nullptr);
  });
}

CuResult OccupancyMaxActiveBlocks(int* blocks, CuFunction function, int threads,
                                  size_t dynamic_bytes) {
  return CallInContext(
      symbols::kOccupancyMaxActiveBlocks, [&](Machine& machine, Context& /*context*/) {
        const std::shared_ptr<Function> found = Find(machine.functions, function);
        if (found == nullptr) return kErrorInvalidHandle;
        if (threads <= 0 || threads > 1024) return kErrorInvalidValue;
        *blocks = static_cast<int>(BlocksPerMultiprocessor(
            machine.settings, *found, static_cast<uint64_t>(threads), dynamic_bytes));
        return kSuccess;
      });
}

CuResult OccupancyMaxActiveClusters(int* clusters, CuFunction function,
                                    const CuLaunchConfig* config) {
  return CallInContext(
      symbols::kOccupancyMaxActiveClusters, [&](Machine& machine, Context& /*context*/) {
        const std::shared_ptr<Function> found = Find(machine.functions, function);
        if (found == nullptr) return +kErrorInvalidHandle;
        LaunchShape shape;
        if (const CuResult error = ReadConfig(config, &shape)) return error;
        if (const CuResult error = CheckShape(machine, *found, shape)) return error;
        const uint32_t blocks = BlocksPerMultiprocessor(machine.settings, *found,
                                                        shape.block.Count(), shape.dynamic_shared);
        const uint64_t cluster = shape.cluster.Count() != 0 ? shape.cluster.Count() : 1;
        *clusters = static_cast<int>(ClustersOfDevice(machine.settings, blocks, cluster));
        return +kSuccess;
      });
}

}  // namespace tarsia::emulated
