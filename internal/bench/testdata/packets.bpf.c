/* Parses Ethernet, VLAN, IPv4 with options, TCP and UDP headers of 256 frames and counts flows. */
#include "bench.h"

struct stats {
	u64 tcp, udp, other, bytes, bad;
};

NOINLINE void parse(const u8 *data, const u8 *end, struct stats *s)
{
	u32 off = 14, proto;

	if (data + 34 > end) {
		s->bad++;
		return;
	}
	proto = be16(data + 12);
	if (proto == 0x8100) {
		proto = be16(data + 16);
		off = 18;
	}
	if (proto != 0x0800) {
		s->other++;
		return;
	}
	const u8 *ip = data + off;
	u32 ihl = (ip[0] & 15) * 4, total = be16(ip + 2);

	if (ihl < 20 || ip + ihl + 20 > end) {
		s->bad++;
		return;
	}
	u32 sum = 0;
	for (u32 i = 0; i < ihl; i += 2)
		sum += be16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	const u8 *l4 = ip + ihl;
	switch (ip[9]) {
	case 6:
		s->tcp += be16(l4) ^ be16(l4 + 2) ^ (l4[13] & 0x3f);
		break;
	case 17:
		s->udp += be16(l4) + be16(l4 + 4);
		break;
	default:
		s->other += sum;
	}
	s->bytes += total;
}

PROGRAM(packets)
{
	struct stats s = {};
	u8 *frame = mem + HALF;

	for (u32 i = 0; i < 64; i++)
		frame[i] = mem[i];
	frame[12] = 8;
	frame[13] = 0;
	for (u32 i = 0; i < 256; i++) {
		u8 c = mem[i];

		frame[12] = c & 64 ? 0x81 : 8;
		frame[16] = 8;
		frame[17] = 0;
		frame[14] = 0x45 + (c & 1);
		frame[18] = frame[14];
		frame[23] = frame[27] = c & 2 ? 6 : c & 4 ? 17 : 1;
		parse(frame, frame + 50 + (c & 15), &s);
	}
	return s.tcp ^ s.udp << 8 ^ s.other << 16 ^ s.bytes << 24 ^ s.bad << 48;
}
