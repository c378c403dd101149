package helpers

import (
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Headers of a SYN, and of the ACK that answers its cookie, from 10.0.0.1 to 10.0.0.2.
const (
	cookieIP4 = "4500002800004000400600000a0000010a000002"
	cookieIP6 = "6000000000140640fd000000000000000000000000000001fd000000000000000000000000000002"
	// ports 1000 and 80, sequence 0x01020304
	synPart = "03e8005001020304000000006002020000000000" // with room for an MSS option
	mss1400 = "02040578"
	ackHead = "03e8005001020305000000005010020000000000"
)

func unhex(text string) string {
	b, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func dec(n int) string { return strconv.Itoa(n) }

// cookieCases make cookies, acknowledge them and check that, and what is not a cookie.
func cookieCases() []recorded {
	var out []recorded
	for _, v := range []struct {
		name, ip string
		size     int
	}{{"ipv4", cookieIP4, 20}, {"ipv6", cookieIP6, 40}} {
		gen, check := "bpf_tcp_raw_gen_syncookie_"+v.name, "bpf_tcp_raw_check_syncookie_"+v.name
		syn, ack := dataAt+v.size, dataAt+v.size+24
		trip := func(size int, disturb string) []string {
			return []string{
				do(gen, at(dataAt), at(syn), size),
				"r1 = r0\nr1 >>= 32\nkeep r1",
				"r0 += 1\nr0 = be32 r0\n*(u32 *)(r7 + " + dec(ack+8) + ") = r0" + disturb,
				do(check, at(dataAt), at(ack)),
				"r1 = 0\n*(u32 *)(r7 + " + dec(ack+8) + ") = r1", // kernels choose other cookies
			}
		}
		out = append(out,
			recorded{name: v.name + " a cookie comes back", typ: uapi.ProgTypeXDP, ignore: []int{0}, init: unhex(v.ip + synPart + mss1400 + ackHead), steps: trip(24, "")},
			recorded{name: v.name + " without the option", typ: uapi.ProgTypeXDP, ignore: []int{0}, init: unhex(v.ip + strings.Replace(synPart, "6002", "5002", 1) + "00000000" + ackHead), steps: trip(20, "")},
			recorded{name: v.name + " from another port", typ: uapi.ProgTypeXDP, ignore: []int{0}, init: unhex(v.ip + synPart + mss1400 + ackHead),
				steps: trip(24, "\n*(u8 *)(r7 + "+dec(ack+1)+") = 1")},
			recorded{name: v.name + " of another sequence", typ: uapi.ProgTypeXDP, ignore: []int{0}, init: unhex(v.ip + synPart + mss1400 + ackHead),
				steps: trip(24, "\n*(u8 *)(r7 + "+dec(ack+4)+") = 9")},
			recorded{name: v.name + " a size that is not the header's", typ: uapi.ProgTypeXDP, init: unhex(v.ip + synPart + mss1400 + ackHead),
				steps: []string{do(gen, at(dataAt), at(syn), 20), do(gen, at(dataAt), at(syn), 23), do(gen, at(dataAt), at(syn), 19), do(gen, at(dataAt), at(syn), 1)}},
			recorded{name: v.name + " nothing acknowledged", typ: uapi.ProgTypeXDP, init: unhex(v.ip + synPart + mss1400 + ackHead), steps: []string{do(check, at(dataAt), at(ack))}},
		)
		for _, o := range []struct{ name, option string }{
			{"largest", "0204ffff"}, {"least", "02040001"}, {"none", "02040000"}, {"cut", "01010204"}, {"silly", "02000578"}, {"ended", "00040578"}, {"long", "02050578"},
		} {
			out = append(out, recorded{name: v.name + " MSS option " + o.name, typ: uapi.ProgTypeXDP, ignore: []int{0}, init: unhex(v.ip + synPart + o.option + ackHead), steps: trip(24, "")})
		}
	}
	return out
}

func TestSynCookies(t *testing.T) { replay(t, "syncookies", cookieCases()) }

// TestListenersCookies: TEST_RUN has no listener.
func TestListenersCookies(t *testing.T) {
	r := newRig(t, newest)
	_, listener := r.open("listener", net.SockSpec{State: stateListen, SourcePort: 80})
	_, conn := r.open("connection", net.SockSpec{Source: []byte{10, 0, 0, 1}, Dest: []byte{10, 0, 0, 2}, SourcePort: 80, DestPort: 999})
	r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
	put := func(text string) uint64 {
		return r.alloc([]byte(unhex(text)))
	}
	ip4, ip6, bad := put(cookieIP4), put(cookieIP6), put(strings.Replace(cookieIP4, "45", "55", 1))
	syn, ack := put(strings.Replace(synPart, "6002", "5002", 1)), put(ackHead)
	for _, tt := range []struct {
		name  string
		id    uapi.FuncID
		sock  uint64
		ip, n uint64
		tcp   uint64
		m     uint64
		want  uapi.Errno
	}{
		{"nobody floods", uapi.FuncTcpGenSyncookie, listener.Addr(), ip4, 20, syn, 20, uapi.ENOENT},
		{"a connection", uapi.FuncTcpGenSyncookie, conn.Addr(), ip4, 20, syn, 20, uapi.EINVAL},
		{"no SYN", uapi.FuncTcpGenSyncookie, listener.Addr(), ip4, 20, ack, 20, uapi.EINVAL},
		{"short IP header", uapi.FuncTcpGenSyncookie, listener.Addr(), ip4, 19, syn, 20, uapi.EINVAL},
		{"IPv6 on an IPv4 socket", uapi.FuncTcpGenSyncookie, listener.Addr(), ip6, 40, syn, 20, uapi.EINVAL},
		{"IP of version 5", uapi.FuncTcpGenSyncookie, listener.Addr(), bad, 20, syn, 20, uapi.EPROTONOSUPPORT},
		{"short TCP header", uapi.FuncTcpGenSyncookie, listener.Addr(), ip4, 20, syn, 19, uapi.EINVAL},
		{"nobody flooded", uapi.FuncTcpCheckSyncookie, listener.Addr(), ip4, 20, ack, 20, uapi.ENOENT},
		{"no ACK", uapi.FuncTcpCheckSyncookie, listener.Addr(), ip4, 20, syn, 20, uapi.ENOENT},
		{"check of a connection", uapi.FuncTcpCheckSyncookie, conn.Addr(), ip4, 20, ack, 20, uapi.EINVAL},
		{"check with a short IP header", uapi.FuncTcpCheckSyncookie, listener.Addr(), ip4, 19, ack, 20, uapi.EINVAL},
		{"check with a short TCP header", uapi.FuncTcpCheckSyncookie, listener.Addr(), ip4, 20, ack, 19, uapi.EINVAL},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, errnoRet(tt.want), r.ok(tt.id, tt.sock, tt.ip, tt.n, tt.tcp, tt.m))
		})
	}
}
