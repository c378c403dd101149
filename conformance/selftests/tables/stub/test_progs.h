// What the kernel's selftests expect of their harness, as far as tables are concerned: checks decide, nothing is reported.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <unistd.h>
#include <linux/types.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

typedef __u64 u64;
typedef __s64 s64;

#define ARRAY_SIZE(x) (sizeof(x) / sizeof((x)[0]))
#define CHECK(condition, ...) ({ bool is_ = (condition); is_; })
#define CHECK_FAIL(condition) CHECK(condition)
#define ASSERT_OK(value, ...) ({ bool is_ = (value) == 0; is_; })
#define ASSERT_ERR(value, ...) ({ bool is_ = (value) != 0; is_; })
#define ASSERT_OK_PTR(pointer, ...) ({ bool is_ = (pointer) != NULL; is_; })
#define ASSERT_EQ(a, b, ...) ({ bool is_ = (a) == (b); is_; })
#define ASSERT_GT(a, b, ...) ({ bool is_ = (a) > (b); is_; })
#define ASSERT_GE(a, b, ...) ({ bool is_ = (a) >= (b); is_; })
#define ASSERT_TRUE(value, ...) ({ bool is_ = (value); is_; })
#define ASSERT_FALSE(value, ...) ({ bool is_ = !(value); is_; })

static struct { bool has_testmod; } env;
static inline bool test__start_subtest(const char *name) { return true; }
static inline void test__skip(void) {}
static inline int sys_gettid(void) { return 1; }
static inline int trigger_module_test_read(int size) { return 0; }

static inline void print_string(const char *s)
{
	if (!s) {
		printf("null");
		return;
	}
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < ' ')
			printf("\\u%04x", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

static inline void print_hex(const void *data, size_t n)
{
	const unsigned char *p = data;

	putchar('"');
	for (size_t i = 0; p && i < n; i++)
		printf("%02x", p[i]);
	putchar('"');
}
