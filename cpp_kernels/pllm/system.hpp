// Every header of the system that the kernels use. Included first, so that what a compiler is told about the target
// of the kernels does not touch the functions of the system.
#pragma once
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <type_traits>
#include <utility>
#ifdef __aarch64__
#include <arm_neon.h>
#endif
