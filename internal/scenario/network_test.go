package scenario

import (
	"net/netip"
	"testing"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNetworkOrderIsReadAndPrintedAlike: fields of kernel objects take addresses and ports as maps
// do, and expectations print them so.
func TestNetworkOrderIsReadAndPrintedAlike(t *testing.T) {
	const objects = `objects:
  s:
    type: sock
    __sk_common.skc_daddr: 10.0.0.1
    __sk_common: {skc_dport: htons(443), skc_rcv_saddr: htonl(0x7f000001)}
runs:
- prog: on_exec
`
	res := runText(t, "exec", objects+`  expect:
    kernel: {s.__sk_common.skc_daddr: 10.0.0.1, s.__sk_common.skc_dport: htons(443), s.__sk_common.skc_rcv_saddr: 127.0.0.1}
`)
	assert.Empty(t, failures(res["on_exec"]))
	res = runText(t, "exec", objects+"  expect:\n    kernel: {s.__sk_common.skc_daddr: 10.0.0.2, s.__sk_common.skc_dport: htons(80)}\n")
	assert.Contains(t, failures(res["on_exec"]), "want 10.0.0.2, got 10.0.0.1")
	assert.Contains(t, failures(res["on_exec"]), "want htons(80), got htons(443)")
}

// TestIPv6IsReadAndPrintedAlike: struct in6_addr and the words of contexts take the text of an
// address, and differences show it.
func TestIPv6IsReadAndPrintedAlike(t *testing.T) {
	const objects = `objects:
  s:
    type: sock
    __sk_common.skc_v6_daddr: 2001:db8::1
    __sk_common: {skc_v6_rcv_saddr: "::1"}
  f: {type: flowi6, daddr: fe80::7, saddr: {in6_u.u6_addr32: [0, 0, 0, htonl(9)]}}
runs:
- prog: on_exec
  expect:
    kernel:
`
	res := runText(t, "exec", objects+`      s.__sk_common.skc_v6_daddr: 2001:db8::1
      s.__sk_common.skc_v6_rcv_saddr: "::1"
      s.__sk_common.skc_v6_daddr.in6_u.u6_addr16[0]: htons(0x2001)
      f.daddr: !ne fe80::8
      f.saddr: '::9'
`)
	assert.Empty(t, failures(res["on_exec"]))
	res = runText(t, "exec", objects+"      s.__sk_common.skc_v6_daddr: 2001:db8::2\n      f.daddr: 'fe80::'\n")
	assert.Contains(t, failures(res["on_exec"]), "want 2001:db8::2, got 2001:db8::1")
	assert.Contains(t, failures(res["on_exec"]), "want fe80::, got fe80::7")
	for _, bad := range []string{"10.0.0.1", "fe80::1%eth0", "2001:db8::1/64", "localhost"} {
		_, err := openText(t, "exec", "objects: {s: {type: sock, __sk_common.skc_v6_daddr: '"+bad+"'}}\nruns: [{prog: on_exec}]\n")
		assert.ErrorContains(t, err, "no IPv6 address", bad)
		_, err = openText(t, "exec", objects+"      s.__sk_common.skc_v6_daddr: '"+bad+"'\n")
		assert.ErrorContains(t, err, "is not an IPv6 address", bad)
	}
}

// TestAddressesAreWrittenAsTheyAreRead: YAML reads what scenario new writes of an address as one
// value.
func TestAddressesAreWrittenAsTheyAreRead(t *testing.T) {
	for _, text := range []string{"2001:db8::1", "::", "::1", "fe80::", "::ffff:10.0.0.1", "1:2:3:4:5:6:7:8", "a::", "0:1::2"} {
		written := yamlValue(btf.IPv6(netip.MustParseAddr(text).As16()))
		for _, doc := range []string{"a: " + written, "{a: " + written + ", b: 1}", "{a: [" + written + "]}", written + ": {}"} {
			root, err := grammar.ParseYAML("f", []byte(doc))
			require.NoError(t, err, doc)
			n := root.Pairs[0].Value
			switch {
			case n.Kind == grammar.Sequence:
				n = n.Items[0]
			case n.Kind == grammar.Mapping:
				n = root.Pairs[0].Key
			}
			a, err := netip.ParseAddr(n.Text)
			require.NoError(t, err, doc)
			assert.Equal(t, netip.MustParseAddr(text), a, doc)
		}
	}
}

// TestContextsTakeIPv6Addresses: the words of an address are read as an address in inputs and in
// expectations.
func TestContextsTakeIPv6Addresses(t *testing.T) {
	const run = "runs: [{prog: connect6, context: {fields: {user_ip6: 2001:db8::1}}, expect: {ret: 1, ctx: {user_ip6: "
	assert.Empty(t, failures(runText(t, "connect", run+"2001:db8::1}}}]")["connect6"]))
	assert.Contains(t, failures(runText(t, "connect", run+"2001:db8::2}}}]")["connect6"]), "ctx.user_ip6")
}

// TestContextsTakeAddressesAndPorts: the UAPI declares user_ip4 and user_port as plain numbers;
// they hold network byte order.
func TestContextsTakeAddressesAndPorts(t *testing.T) {
	const run = "runs: [{prog: connect4, context: {fields: {user_ip4: 192.0.2.7, user_port: 80}}, expect: {ctx: {user_ip4: "
	assert.Empty(t, failures(runText(t, "connect", run+"192.0.2.7, user_port: htons(80)}}}]")["connect4"]))
	assert.Contains(t, failures(runText(t, "connect", run+"192.0.2.8}}}]")["connect4"]), "ctx.user_ip4")
	assert.Contains(t, failures(runText(t, "connect", run+"192.0.2.7, user_port: htons(81)}}}]")["connect4"]), "ctx.user_port")
	_, err := openText(t, "connect", run+"192.0.2.7, user_family: 10.0.0.1}}}]")
	assert.ErrorContains(t, err, "user_family (__u32): \"10.0.0.1\" does not say in which byte order")
	_, err = openText(t, "connect", run+"2001:db8::1}}}]")
	assert.ErrorContains(t, err, "user_ip4")
}

// TestKeysOfSocketsAreTheirFields: dport: 443 and skc_dport: htons(443) set the same bytes, and two
// keys that set them differently are an error.
func TestKeysOfSocketsAreTheirFields(t *testing.T) {
	const sock = "objects:\n  s: !sock\n    "
	for _, tt := range []struct{ name, keys, field, want string }{
		{"the port of the peer", "dport: 443", "__sk_common.skc_dport", "htons(443)"},
		{"its field", "__sk_common.skc_dport: htons(443)", "__sk_common.skc_dport", "htons(443)"},
		{"its own port", "sport: 80", "__sk_common.skc_num", "80"},
		{"an address", "dest: 10.0.0.9", "__sk_common.skc_daddr", "10.0.0.9"},
		{"an address of IPv6", "dest: 2001:db8::9", "__sk_common.skc_v6_daddr", "2001:db8::9"},
		{"both, alike", "dport: 443\n    __sk_common: {skc_dport: htons(443)}", "__sk_common.skc_dport", "htons(443)"},
		{"a key and another field", "dport: 443\n    __sk_common: {skc_num: 7}", "__sk_common.skc_dport", "htons(443)"},
		{"an address of the other family", "dest: 10.0.0.9\n    __sk_common: {skc_v6_daddr: '::1'}", "__sk_common.skc_daddr", "10.0.0.9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := runText(t, "exec", sock+tt.keys+"\nruns: [{prog: on_exec, expect: {kernel: {s."+tt.field+": '"+tt.want+"'}}}]\n")
			assert.Empty(t, failures(res["on_exec"]))
		})
	}
	for _, tt := range []struct{ name, object, want string }{
		{"a port and its field", "!sock {dport: 443, __sk_common.skc_dport: htons(80)}", "s.yaml:1:32: dport and __sk_common.skc_dport set __sk_common.skc_dport to different values: leave one of them out"},
		{"in host order", "!sock {dport: 443, __sk_common.skc_dport: 443}", "dport and __sk_common.skc_dport set"},
		{"before the key", "!sock {__sk_common.skc_dport: htons(80), dport: 443}", "dport and __sk_common.skc_dport set"},
		{"in a struct", "!sock {sport: 443, __sk_common: {skc_num: 80}}", "sport and __sk_common set __sk_common.skc_num"},
		{"in a union", "!sock {dest: 10.0.0.1, __sk_common: {skc_addrpair: 0}}", "dest and __sk_common set __sk_common.skc_daddr"},
		{"a word of an address", "!sock {source: 2001:db8::1, '__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[3]': 0}", "source and __sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[3] set"},
		{"a state", "!sock {state: TCP_LISTEN, __sk_common.skc_state: 1}", "state and __sk_common.skc_state set"},
		{"a file's inode", "!file {ino: 7, f_inode: {i_ino: 8}}", "ino and f_inode set f_inode.i_ino to different values"},
		{"a file's flags", "!file {flags: 1, f_flags: 2}", "flags and f_flags set f_flags"},
		{"a connection's protocol", "!conn {source: 10.0.0.1, dest: 10.0.0.2, protocol: 17, 'tuplehash[1]': {tuple: {dst: {protonum: 6}}}}", "protocol and tuplehash[1] set tuplehash[1].tuple.dst.protonum"},
		{"a connection's port", "!conn {source: 10.0.0.1, dest: 10.0.0.2, sport: 80, 'tuplehash[0].tuple.src.u.all': htons(81)}", "sport and tuplehash[0].tuple.src.u.all set tuplehash[0].tuple.src.u"},
		{"a connection's time", "!conn {source: 10.0.0.1, dest: 10.0.0.2, expires: 5, timeout: 9}", "expires and timeout set timeout"},
		{"a cgroup's id", "!cgroup {path: /a, id: 7, kn: {id: 8}}", "id and kn set kn.id"},
		{"the name of a program's file", "!bprm {path: /bin/true, filename: /bin/false}", "path and filename set filename"},
		{"where arguments are", "!mm {args: [ls, -l], arg_start: 4096}", "args and arg_start set arg_start"},
		{"a register", "!pt_regs {args: [1, 2], si: 3}", "args and si set si"},
		{"the result's register", "!pt_regs {ret: 1, ax: 3}", "ret and ax set ax"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openText(t, "exec", "objects: {s: "+tt.object+"}\nruns: [{prog: on_exec}]\n")
			assert.ErrorContains(t, err, tt.want)
		})
	}
}
