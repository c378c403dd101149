/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The parts of the kernel's HID types that the examples use. */
#ifndef EXAMPLES_HID_H
#define EXAMPLES_HID_H

#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define kernel_type __attribute__((preserve_access_index))

enum hid_report_type { HID_INPUT_REPORT, HID_OUTPUT_REPORT, HID_FEATURE_REPORT };
enum hid_class_request { HID_REQ_GET_REPORT = 1, HID_REQ_SET_REPORT = 9 };

struct hid_device {
	__u32 id;
	__u32 vendor, product;
} kernel_type;

struct hid_bpf_ctx {
	struct hid_device *hid;
	__u32 allocated_size;
	__s32 size;
} kernel_type;

struct hid_bpf_ops {
	int hid_id;
	__u32 flags;
	int (*hid_device_event)(struct hid_bpf_ctx *ctx, enum hid_report_type type, __u64 source);
	int (*hid_rdesc_fixup)(struct hid_bpf_ctx *ctx);
	int (*hid_hw_request)(struct hid_bpf_ctx *ctx, unsigned char num, enum hid_report_type type, enum hid_class_request req, __u64 source);
	int (*hid_hw_output_report)(struct hid_bpf_ctx *ctx, __u64 source);
} kernel_type;

/* What udev-hid-bpf passes to the program called probe. */
struct hid_bpf_probe_args {
	unsigned int hid;
	unsigned int rdesc_size;
	unsigned char rdesc[4096];
	int retval;
};

/* Weak: programs that no kernel types have are left out, and the rest of the object loads. */
extern __u8 *hid_bpf_get_data(struct hid_bpf_ctx *ctx, unsigned int offset, const unsigned long rdwr_buf_size) __weak __ksym;
extern struct hid_bpf_ctx *hid_bpf_allocate_context(unsigned int hid_id) __weak __ksym;
extern void hid_bpf_release_context(struct hid_bpf_ctx *ctx) __weak __ksym;
extern int hid_bpf_hw_request(struct hid_bpf_ctx *ctx, __u8 *buf, unsigned long buf__sz, enum hid_report_type type, enum hid_class_request req) __weak __ksym;
extern int hid_bpf_hw_output_report(struct hid_bpf_ctx *ctx, __u8 *buf, unsigned long buf__sz) __weak __ksym;
extern int hid_bpf_input_report(struct hid_bpf_ctx *ctx, enum hid_report_type type, __u8 *buf, const unsigned long buf__sz) __weak __ksym;
extern int hid_bpf_try_input_report(struct hid_bpf_ctx *ctx, enum hid_report_type type, __u8 *buf, const unsigned long buf__sz) __weak __ksym;

#endif
