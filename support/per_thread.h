// An object that each thread has its own instance of.
#ifndef TARSIA_SUPPORT_PER_THREAD_H_
#define TARSIA_SUPPORT_PER_THREAD_H_

#include <pthread.h>

#include <memory>
#include <new>

namespace tarsia {

// The instance is made when a thread first needs it and destroyed when the thread ends. Get fails
// if there is no memory; for a thread_local with a destructor the C library would end the process.
// For objects of static storage; instances of other threads that exist when such an object is
// destroyed are lost.
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
