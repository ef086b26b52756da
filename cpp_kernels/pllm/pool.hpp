// Threads that stay: they spin for a moment after their last task, then sleep. The caller always works too, and
// never waits for a thread that sleeps. One job at a time; a second caller does its job alone. Each thread has a share of the
// tasks, the same one in every job, so that what it read and wrote is still in its cache; then it takes what others left.
#pragma once
#include "memory.hpp"

namespace pllm {

constexpr int spins = 4000;  // of a worker, before it sleeps

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield");
#endif
}

struct Scratch {
  std::size_t bytes;
  void* memory;
};

struct Pool {
  using Task = void (*)(void* job, long index);

  explicit Pool(int threads) : threads(threads) {}

  ~Pool() {
    stopping.store(true);
    wake();
    for (int i = 0; i < started; ++i) pthread_join(workers[i], nullptr);
    if (Scratch* scratch = spare.exchange(nullptr)) drop(scratch);
  }

  // task(job, i) for every i below count; backwards, from the last one of a share to the first.
  void run(Task task, void* job, long count, bool backwards) {
    if (threads == 1 || count == 1 || busy.exchange(true)) return run_alone(task, job, count, backwards);
    start();
    current_task = task;
    current_job = job;
    current_count = count;
    current_backwards = backwards;
    for (int i = 0; i < threads; ++i) next[i].store(share(i));
    open.store(true);
    wake();
    work(0);
    open.store(false);
    for (int i = 0; inside.load() != 0; ++i) i < spins ? pause_cpu() : void(sched_yield());  // others may hold its CPU
    busy.store(false);
  }

  static void run_alone(Task task, void* job, long count, bool backwards) {
    for (long i = 0; i < count; ++i) task(job, backwards ? count - 1 - i : i);
  }

  // Memory that lasts one call, kept for the next; null when there is none.
  Scratch* borrow(std::size_t bytes) {
    Scratch* scratch = spare.exchange(nullptr);
    if (scratch != nullptr && scratch->bytes >= bytes) return scratch;
    if (scratch != nullptr) drop(scratch);
    bytes = bytes < fewest_shared ? bytes : round_up(bytes, huge_page);
    void* memory = allocate(bytes);
    if (memory == nullptr) return nullptr;
    scratch = static_cast<Scratch*>(std::malloc(sizeof(Scratch)));
    if (scratch == nullptr) {
      std::free(memory);
      return nullptr;
    }
    *scratch = {bytes, memory};
    return scratch;
  }

  void give_back(Scratch* scratch) {
    if (Scratch* other = spare.exchange(scratch)) drop(other);
  }

  const int threads;

 private:
  static constexpr int most_workers = 31;

  static void drop(Scratch* scratch) {
    std::free(scratch->memory);
    std::free(scratch);
  }

  // Where the system refuses more threads, those that there are, and the caller, do the work.
  void start() {
    while (started < threads - 1 && pthread_create(&workers[started], nullptr, live, this) == 0) ++started;
  }

  void wake() {
    generation.fetch_add(1);
    if (sleeping.load() == 0) return;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&bell);
    pthread_mutex_unlock(&lock);
  }

  long share(int thread) const { return current_count * thread / threads; }  // its first task

  void work(int me) {
    for (int offset = 0; offset < threads; ++offset) {
      const int owner = (me + offset) % threads;
      const long first = share(owner), end = share(owner + 1);
      for (long i = next[owner].fetch_add(1); i < end; i = next[owner].fetch_add(1))
        current_task(current_job, current_backwards ? first + end - 1 - i : i);
    }
  }

  static void* live(void* itself) {
    Pool& pool = *static_cast<Pool*>(itself);
    const int me = pool.joined.fetch_add(1) + 1;
    unsigned seen = 0;
    while (!pool.stopping.load()) {
      pool.inside.fetch_add(1);
      if (pool.open.load()) pool.work(me);
      pool.inside.fetch_sub(1);
      seen = pool.await(seen);
    }
    return nullptr;
  }

  unsigned await(unsigned seen) {
    for (int i = 0; i < spins; ++i) {
      const unsigned now = generation.load();
      if (now != seen) return now;
      pause_cpu();
    }
    pthread_mutex_lock(&lock);
    sleeping.fetch_add(1);
    while (generation.load() == seen) pthread_cond_wait(&bell, &lock);
    sleeping.fetch_sub(1);
    pthread_mutex_unlock(&lock);
    return generation.load();
  }

  pthread_t workers[most_workers];
  int started = 0;
  std::atomic<bool> stopping{false}, busy{false}, open{false};
  std::atomic<int> inside{0}, sleeping{0}, joined{0};
  std::atomic<unsigned> generation{0};
  std::atomic<long> next[most_workers + 1] = {};  // task of each share that nobody took
  std::atomic<Scratch*> spare{nullptr};
  Task current_task = nullptr;
  void* current_job = nullptr;
  long current_count = 0;
  bool current_backwards = false;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
};

}  // namespace pllm
