// SPDX-License-Identifier: Apache-2.0
#include "base/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/strings.h"
#include "tandem/error.h"

#if defined(__SANITIZE_ADDRESS__)
#define TANDEM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TANDEM_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TANDEM_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TANDEM_TSAN 1
#endif
#endif

#ifdef TANDEM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef TANDEM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace tandem {

namespace context = boost::context::detail;

struct Fiber::Impl {
  std::byte* mapping = nullptr;
  std::size_t mapping_bytes = 0;
  std::byte* stack = nullptr;  // above the guard page
  std::size_t stack_bytes = 0;
  context::fcontext_t inside = nullptr;
  context::fcontext_t outside = nullptr;
  std::function<void()> body;
  // Sanitizer state of both sides; unused otherwise.
  void* fake_stack_inside = nullptr;
  void* fake_stack_outside = nullptr;
  const void* outside_bottom = nullptr;
  std::size_t outside_bytes = 0;
  void* tsan_inside = nullptr;
  void* tsan_outside = nullptr;

  void before_enter() {
#ifdef TANDEM_ASAN
    __sanitizer_start_switch_fiber(&fake_stack_outside, stack, stack_bytes);
#endif
#ifdef TANDEM_TSAN
    tsan_outside = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_inside, 0);
#endif
  }
  void after_leave() {
#ifdef TANDEM_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_outside, nullptr, nullptr);
#endif
  }
  void before_leave([[maybe_unused]] bool for_good) {
#ifdef TANDEM_ASAN
    __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_inside, outside_bottom,
                                   outside_bytes);
#endif
#ifdef TANDEM_TSAN
    __tsan_switch_to_fiber(tsan_outside, 0);
#endif
  }
  void after_enter() {
#ifdef TANDEM_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_inside, &outside_bottom, &outside_bytes);
#endif
  }
  static void run(context::transfer_t from);
};

void Fiber::Impl::run(context::transfer_t from) {
  auto* fiber = static_cast<Fiber*>(from.data);
  Impl& impl = *fiber->impl_;
  impl.outside = from.fctx;
  impl.after_enter();
  impl.body();
  fiber->finished_ = true;
  impl.before_leave(true);
  context::jump_fcontext(impl.outside, nullptr);
  TANDEM_CHECK(false, "a finished fibre was resumed");
}

Fiber::Fiber(std::size_t stack_bytes) : impl_(std::make_unique<Impl>()) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  impl_->mapping_bytes = stack_bytes + page;
  void* mapping = mmap(nullptr, impl_->mapping_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) {
    throw Error(ErrorKind::environment, cat("fibre stack: ", impl_->mapping_bytes,
                                            " bytes cannot be mapped: ", std::strerror(errno),
                                            "; raise the memory limit (ulimit -v)"));
  }
  impl_->mapping = static_cast<std::byte*>(mapping);
  mprotect(impl_->mapping, page, PROT_NONE);  // an overflow faults instead of corrupting
  impl_->stack = impl_->mapping + page;
  impl_->stack_bytes = stack_bytes;
}

Fiber::~Fiber() {
#ifdef TANDEM_ASAN
  // The first frame never returns, and a dropped fibre leaves all of its own: without this their
  // poison would stay on whatever is mapped here next.
  __asan_unpoison_memory_region(impl_->stack, impl_->stack_bytes);
#endif
#ifdef TANDEM_TSAN
  if (impl_->tsan_inside != nullptr) __tsan_destroy_fiber(impl_->tsan_inside);
#endif
  munmap(impl_->mapping, impl_->mapping_bytes);
}

void Fiber::start(std::function<void()> body) {
  TANDEM_CHECK(finished_, "a running fibre was started again");
  finished_ = false;
  impl_->body = std::move(body);
  impl_->fake_stack_inside = nullptr;
#ifdef TANDEM_TSAN
  if (impl_->tsan_inside == nullptr) impl_->tsan_inside = __tsan_create_fiber(0);
#endif
  impl_->inside =
      context::make_fcontext(impl_->stack + impl_->stack_bytes, impl_->stack_bytes, &Impl::run);
}

void Fiber::resume() {
  TANDEM_DCHECK(!finished_, "a finished fibre was resumed");
  impl_->before_enter();
  const context::transfer_t back = context::jump_fcontext(impl_->inside, this);
  impl_->after_leave();
  impl_->inside = back.fctx;
}

void Fiber::suspend() {
  impl_->before_leave(false);
  const context::transfer_t from = context::jump_fcontext(impl_->outside, nullptr);
  impl_->outside = from.fctx;
  impl_->after_enter();
}

}  // namespace tandem
