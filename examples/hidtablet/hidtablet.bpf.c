// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// hidtablet: a tablet whose descriptor has two mistakes: the pen's second button is declared as an eraser, and the pressure goes
// further than it says.
#include "hid.h"

#define BUTTON 17   /* where the descriptor has these */
#define PRESSURE 52

SEC("struct_ops.s/hid_rdesc_fixup")
int BPF_PROG(fix_tablet, struct hid_bpf_ctx *hctx)
{
	__u8 *desc = hid_bpf_get_data(hctx, 0, 64);

	if (!desc || hctx->size != 62)
		return 0;
	if (desc[BUTTON] == 0x45)
		desc[BUTTON] = 0x5a; /* secondary barrel switch */
	desc[PRESSURE + 1] = 0x1f;
	return 0;
}

SEC("struct_ops/hid_device_event")
int BPF_PROG(smooth, struct hid_bpf_ctx *hctx, enum hid_report_type type, __u64 source)
{
	__u8 *report = hid_bpf_get_data(hctx, 0, 8);
	__u32 pressure;

	if (!report || report[0] != 7)
		return 0;
	pressure = report[6] | report[7] << 8;
	if (pressure < 16) /* the pen only hovers */
		report[1] &= ~1;
	return 0;
}

SEC(".struct_ops.link")
struct hid_bpf_ops tablet = {
	.hid_rdesc_fixup = (void *)fix_tablet,
	.hid_device_event = (void *)smooth,
};

char LICENSE[] SEC("license") = "GPL";
