// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// hidkeyboard: a keyboard that declares reports of four keys but sends six, with a byte behind them that is none; two of its lights
// are wired the wrong way round.
#include "hid.h"

#define KEYS 33 /* where the descriptor has the number of keys */

SEC("struct_ops.s/hid_rdesc_fixup")
int BPF_PROG(six_keys, struct hid_bpf_ctx *hctx)
{
	__u8 *desc = hid_bpf_get_data(hctx, 0, 64);

	if (desc && desc[KEYS] == 4)
		desc[KEYS] = 6;
	return 0;
}

SEC("struct_ops/hid_device_event")
int BPF_PROG(cut, struct hid_bpf_ctx *hctx, enum hid_report_type type, __u64 source)
{
	return hctx->size > 8 ? 8 : 0;
}

SEC("struct_ops.s/hid_hw_output_report")
int BPF_PROG(lights, struct hid_bpf_ctx *hctx, __u64 source)
{
	__u8 *report = hid_bpf_get_data(hctx, 0, 2);

	if (report)
		report[1] = (report[1] & ~3) | (report[1] & 1) << 1 | (report[1] & 2) >> 1;
	return 0;
}

SEC(".struct_ops.link")
struct hid_bpf_ops keyboard = {
	.hid_rdesc_fixup = (void *)six_keys,
	.hid_device_event = (void *)cut,
	.hid_hw_output_report = (void *)lights,
};

char LICENSE[] SEC("license") = "GPL";
