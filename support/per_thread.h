// An object of each thread's own.
#ifndef TARSIA_SUPPORT_PER_THREAD_H_
#define TARSIA_SUPPORT_PER_THREAD_H_

#include <pthread.h>

#include <memory>
#include <new>

namespace tarsia {

// Made when a thread first wants it, and destroyed when the thread ends. Unlike a thread_local with
// a destructor, for which the C library ends the process where it has no memory, Get fails. For
// objects of static storage; what other threads have when such an object is destroyed is lost.
template <typename T>
class PerThread {
 public:
  PerThread() : made_(pthread_key_create(&key_, Destroy) == 0) {}
  ~PerThread() {
    if (!made_) return;
    made_ = false;
    Destroy(pthread_getspecific(key_));
    pthread_key_delete(key_);
  }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

  // Throws std::bad_alloc.
  T& Get() {
    if (!made_) throw std::bad_alloc();
    if (void* const known = pthread_getspecific(key_)) return *static_cast<T*>(known);
    auto own = std::make_unique<T>();
    if (pthread_setspecific(key_, own.get()) != 0) throw std::bad_alloc();
    return *own.release();
  }

 private:
  static void Destroy(void* own) { delete static_cast<T*>(own); }

  pthread_key_t key_{};
  bool made_;
};

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_PER_THREAD_H_
