# examples/xdp/xdp.bpf.o
run
p pkt
p pkt.ip.ttl
p pkt.tcp.dest
p pkt[0:6]
p pkt[12]
info packet
info ctx
p *ctx
p verdicts
p verdicts[2]
p verdicts[2, 1]
p verdicts[2, 1].bytes
p blocked_ports
p blocked_ports[80]
set blocked_ports[80] = 1
set pkt.ip.ttl = 1
p pkt.ip.ttl
watch pkt.ip.ttl
b verdict
c
bt
finish
c
p verdicts
rc
p blocked_sources[{prefixlen = 32, addr = 1}]
set blocked_sources[{prefixlen = 32, addr = 1}] = 7
p blocked_sources
p XDP_DROP
p (enum xdp_action)1
p sizeof(struct iphdr)
p $r0 == XDP_PASS ? 1 : 2
