// Package gotest shows tests of BPF programs in Go: of an XDP firewall and of a tracing program, on
// several kernels, without root.
package gotest

import (
	"testing"

	"github.com/bpfrun/bpfrun/bpftest"
)

// Verdicts of XDP.
const (
	drop = 1
	pass = 2
)

// service and prefix are the keys of the firewall's maps (../firewall/firewall.bpf.c).
type service struct{ Protocol, Port uint16 }

type prefix struct {
	Len  uint32
	Addr [4]byte
}

func put(t *testing.T, m *bpftest.Map, key, value any) {
	t.Helper()
	if err := m.Put(key, value); err != nil {
		t.Fatal(err)
	}
}

// TestFirewall: sources are judged before services, services before the default.
func TestFirewall(t *testing.T) {
	obj := bpftest.New(t, bpftest.Kernel("embedded")).Load("../firewall/firewall.bpf.o", bpftest.Set("otherwise", uint32(drop)))
	put(t, obj.Map("services"), service{6, 443}, uint32(pass))
	put(t, obj.Map("sources"), prefix{8, [4]byte{10}}, uint32(drop))
	firewall := obj.Program("firewall")
	for packet, want := range map[string]string{
		"eth/ip(src=192.0.2.1)/tcp(dport=443)":      "XDP_PASS",
		"eth/ip(src=10.1.2.3)/tcp(dport=443)":       "XDP_DROP",
		"eth/ip(src=192.0.2.1)/tcp(dport=23)":       "XDP_DROP",
		"eth/vlan/ip(src=192.0.2.1)/tcp(dport=443)": "XDP_PASS",
		"eth/ip(src=192.0.2.1)/tcp(dport=443)[:30]": "XDP_DROP", // cut short
		"eth/arp": "XDP_PASS",
		"eth/ip(src=192.0.2.1)/udp(dport=443)/'secret'": "XDP_DROP",
	} {
		res := firewall.Run(bpftest.Input{Packet: obj.Packet(packet)})
		if res.Verdict() != want {
			t.Errorf("%s: %s, want %s", packet, res.Verdict(), want)
		}
	}
	for _, line := range firewall.Coverage().Missed() {
		t.Logf("never executed: %s:%d %s", line.File, line.Number, line.Text)
	}
}
