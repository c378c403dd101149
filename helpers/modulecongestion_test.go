package helpers

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// congestionStep is a call of a kernel's function: the socket before it, its arguments, and the
// socket and the module's struct after it. Fields are those of struct tcp_sock unless they name
// another struct.
type congestionStep struct {
	Op      string
	Arg     uint64
	Jiffies uint64 // since the first step
	Set     map[string]uint64
	RS      map[string]int64
	Random  []uint64
	Ret     uint64
	After   map[string]uint64
	Own     map[string]uint64
	Sent    []uint64 // the sequence numbers of ACKs
}

// follow repeats the steps of a file on a new connection and compares after each.
func follow(t *testing.T, file, module, priv string) {
	packed, err := os.Open(filepath.Join("testdata", "congestion", file+".jsonl.gz"))
	require.NoError(t, err)
	defer packed.Close()
	data, err := gzip.NewReader(packed)
	require.NoError(t, err)
	var steps []congestionStep
	var random []uint64
	for dec := json.NewDecoder(data); dec.More(); {
		var s congestionStep
		require.NoError(t, dec.Decode(&s))
		steps, random = append(steps, s), append(random, s.Random...)
	}
	r := moduleRig(t, uapi.VersionCode(7, 2), module, random...)
	r.env.Run = NewRun(uapi.ProgTypeStructOps, 0)
	r.kernel.Clock().HZ = 1000
	require.NotEmpty(t, steps)
	o, err := r.kernel.NewObjectNamed("sk", "tcp_sock")
	require.NoError(t, err)
	area, _, err := o.Storage().Place("inet_conn.icsk_ca_priv")
	require.NoError(t, err)
	require.NoError(t, o.SetBytes("inet_conn.icsk_ca_priv", make([]byte, area.Size)))
	conn, err := r.kernel.ConnectionAt(o.Addr(), priv)
	require.NoError(t, err)
	place := func(field string) (typ, path string) {
		for _, typ := range []string{"sock", "inet_connection_sock", "inet_sock"} {
			if path, ok := strings.CutPrefix(field, typ+"."); ok {
				return typ, path
			}
		}
		return "tcp_sock", field
	}
	first, seen := uint32(r.kernel.Clock().Jiffies()), uint64(0)
	r.kernel.Clock().Step = 0
	for i, s := range steps {
		r.kernel.Clock().Advance((s.Jiffies - seen) * 1e6)
		seen = s.Jiffies
		for f, v := range s.Set {
			typ, path := place(f)
			conn.SetOf(typ, path, v)
		}
		args := []uint64{o.Addr(), s.Arg, 0, 0}
		if s.RS != nil {
			args[3] = r.rateSample(s.RS)
		}
		r.env.Run.Events = nil
		assert.Equal(t, s.Ret, r.kok(s.Op, args...), "step %d: %s", i, s.Op)
		for f, want := range s.After {
			typ, path := place(f)
			assert.Equal(t, want, conn.GetOf(typ, path), "step %d: %s: %s", i, s.Op, f)
		}
		for f, want := range s.Own {
			got := conn.Own(f)
			if strings.HasSuffix(f, "min_rtt_stamp") || f == "probe_rtt_done_stamp" && got != 0 {
				got = uint64(uint32(got) - first) // in jiffies
			}
			assert.Equal(t, want, got, "step %d: %s: own %s", i, s.Op, f)
		}
		var sent []uint64
		for _, e := range r.env.Run.Events {
			sent = append(sent, e.Number)
		}
		assert.Equal(t, s.Sent, sent, "step %d: %s: ACKs", i, s.Op)
		require.NoError(t, conn.Err)
		if t.Failed() {
			t.FailNow()
		}
	}
}

// rateSample is a struct rate_sample in memory of the program.
func (r *rig) rateSample(fields map[string]int64) uint64 {
	l := r.kernel.LayoutNamed("rate_sample")
	require.NotNil(r.t, l)
	b := make([]byte, l.Size)
	for f, v := range fields {
		p, _, err := l.Place(f)
		require.NoError(r.t, err)
		endian.PutUint(r.mem.ByteOrder(), b[p.Off:p.Off+p.Size], uint64(v))
	}
	return r.alloc(b)
}

// TestRecordedCongestion: the functions of tcp_bbr and tcp_dctcp on random connections leave the
// fields that those of Linux 7.2 left, compiled for user space (testdata/congestion).
func TestRecordedCongestion(t *testing.T) {
	follow(t, "bbr-policed", "tcp_bbr", "bbr")
	follow(t, "bbr", "tcp_bbr", "bbr")
	follow(t, "dctcp", "tcp_dctcp", "dctcp")
}

// TestBBRMainArguments: Linux 6.10 put an acknowledgement number and flags before the sample.
func TestBBRMainArguments(t *testing.T) {
	for _, tt := range []struct {
		version uint32
		at      int
	}{{uapi.VersionCode(6, 9), 1}, {uapi.VersionCode(6, 10), 3}} {
		r := moduleRig(t, tt.version, "tcp_bbr")
		sk := r.tcp(map[string]uint64{"snd_cwnd": 10, "mss_cache": 1448, "delivered": 20, "packets_out": 5, "srtt_us": 8000})
		r.kok("bbr_init", sk.Addr())
		args := []uint64{sk.Addr(), 1, 1, 1}
		args[tt.at] = r.rateSample(map[string]int64{"delivered": 10, "interval_us": 1000, "rtt_us": 1000, "acked_sacked": 2})
		r.kok("bbr_main", args...)
		c, err := r.kernel.ConnectionAt(sk.Addr(), "bbr")
		require.NoError(t, err)
		assert.Equal(t, uint64(10<<24/1000), c.Own("bw.s[0].v"))
		args[tt.at] = 0
		_, f := r.kfunc("bbr_main", args...)
		require.NotNil(t, f)
	}
}

// TestCWNDEvents: of the events that BBR gets, only the start of sending matters (Linux before 7.1
// passes all of them).
func TestCWNDEvents(t *testing.T) {
	r := moduleRig(t, uapi.VersionCode(7, 0), "tcp_bbr")
	sk := r.tcp(map[string]uint64{"snd_cwnd": 10, "mss_cache": 1448, "app_limited": 1, "srtt_us": 8000})
	r.kok("bbr_init", sk.Addr())
	c, err := r.kernel.ConnectionAt(sk.Addr(), "bbr")
	require.NoError(t, err)
	r.kok("bbr_cwnd_event", sk.Addr(), 1)
	assert.Zero(t, c.Own("idle_restart"))
	r.kok("bbr_cwnd_event", sk.Addr(), 0)
	assert.Equal(t, uint64(1), c.Own("idle_restart"))
}

// TestDCTCPWithoutECN: a connection without ECN falls back to Reno. Accurate ECN counts since Linux
// 6.15.
func TestDCTCPWithoutECN(t *testing.T) {
	for _, tt := range []struct {
		name         string
		version      uint32
		flags, state uint64
		reno         bool
	}{
		{"no ECN", uapi.VersionCode(7, 2), 2, 1, true},
		{"ECN", uapi.VersionCode(7, 2), 1, 1, false},
		{"accurate ECN", uapi.VersionCode(6, 15), 16, 1, false},
		{"before accurate ECN", uapi.VersionCode(6, 14), 16, 1, true},
		{"a listener", uapi.VersionCode(7, 2), 0, 10, false},
		{"a closed socket", uapi.VersionCode(7, 2), 0, 7, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := moduleRig(t, tt.version, "tcp_dctcp")
			v6, err := r.kernel.NewObjectNamed("v6", "ipv6_pinfo")
			require.NoError(t, err)
			require.NoError(t, v6.SetUint("tclass", 0xff))
			sk := r.tcp(map[string]uint64{"ecn_flags": tt.flags, "inet_conn.icsk_inet.sk.__sk_common.skc_state": tt.state, "inet_conn.icsk_inet.tos": 0xff})
			require.NoError(t, sk.SetPtr("inet_conn.icsk_inet.pinet6", v6))
			was := sk.Num("inet_conn.icsk_ca_ops")
			r.kok("dctcp_init", sk.Addr())
			if !tt.reno {
				assert.Equal(t, was, sk.Num("inet_conn.icsk_ca_ops"))
				fields(t, sk, map[string]uint64{"inet_conn.icsk_inet.tos": 0xff})
				fields(t, v6, map[string]uint64{"tclass": 0xff})
				return
			}
			ops := r.kernel.ObjectAt(sk.Num("inet_conn.icsk_ca_ops"))
			require.NotNil(t, ops)
			_, name, err := ops.Peek("name")
			require.NoError(t, err)
			assert.Equal(t, "dctcp-reno", strings.TrimRight(string(name), "\x00"))
			fields(t, sk, map[string]uint64{"inet_conn.icsk_inet.tos": 0xfc})
			fields(t, v6, map[string]uint64{"tclass": 0xfc})
		})
	}
}

// TestModuleCongestionErrors: addresses that are no TCP socket, a kernel without the module's
// types, a division by zero.
func TestModuleCongestionErrors(t *testing.T) {
	for module, rows := range map[string][]kfuncRow{"tcp_bbr": bbrKfuncs, "tcp_dctcp": dctcpKfuncs} {
		r, without := moduleRig(t, uapi.VersionCode(7, 2), module), newRig(t, newest)
		udp, err := r.kernel.NewObjectNamed("sk", "udp_sock")
		require.NoError(t, err)
		sk := r.tcp(map[string]uint64{"snd_cwnd": 10, "app_limited": 1}).Addr()
		rs := r.rateSample(map[string]int64{"acked_sacked": 1})
		for _, row := range rows {
			for _, addr := range []uint64{0, udp.Addr(), sk + 8, 1 << 63} {
				_, f := r.kfunc(row.Name, addr, 1, 1, rs)
				require.NotNil(t, f, row.Name)
				assert.Equal(t, vm.BadArgument, f.Kind, row.Name)
			}
			switch row.Name {
			case "bbr_sndbuf_expand", "bbr_min_tso_segs", "dctcp_cwnd_event_tx_start":
				continue // they do not look at the module's struct
			}
			arg := uint64(5) // CA_EVENT_ECN_IS_CE
			switch row.Name {
			case "dctcp_state":
				arg = stateRecovery
			case "bbr_set_state":
				arg = stateLoss
			case "bbr_cwnd_event":
				arg = 0
			}
			o := without.tcp(map[string]uint64{"snd_cwnd": 10, "app_limited": 1, "ecn_flags": 1, "inet_conn.icsk_ca_state": 0})
			_, f := without.kfunc(row.Name, o.Addr(), arg, 1, without.rateSample(map[string]int64{"acked_sacked": 1}))
			require.NotNil(t, f, row.Name)
			assert.Equal(t, vm.NotSimulated, f.Kind, row.Name)
			assert.Contains(t, f.Error(), "no struct "+strings.TrimPrefix(module, "tcp_"), row.Name)
		}
	}
	r := moduleRig(t, uapi.VersionCode(7, 2), "tcp_bbr")
	sk := r.tcp(map[string]uint64{"snd_cwnd": 10, "mss_cache": 0})
	r.kok("bbr_init", sk.Addr())
	_, f := r.kfunc("bbr_main", sk.Addr(), 0, 0, r.rateSample(map[string]int64{"delivered": 1, "interval_us": 1, "acked_sacked": 1}))
	require.NotNil(t, f)
	assert.Equal(t, vm.BadArgument, f.Kind)
	assert.Contains(t, f.Error(), "mss_cache")
}

// TestLargestBandwidths: the filter of BBR keeps the three largest samples of parts of the last ten
// rounds (minmax_running_max).
func TestLargestBandwidths(t *testing.T) {
	type samples = [3]bandwidthSample
	r := moduleRig(t, uapi.VersionCode(6, 12), "tcp_bbr")
	sk := r.tcp(nil)
	c, err := r.kernel.ConnectionAt(sk.Addr(), "bbr")
	require.NoError(t, err)
	b := &bbr{connection: &connection{Connection: c}}
	for _, tt := range []struct {
		name string
		have samples
		t, v uint32
		want samples
	}{
		{"the largest", samples{{1, 90}, {2, 80}, {3, 70}}, 4, 91, samples{{4, 91}, {4, 91}, {4, 91}}},
		{"as large", samples{{1, 90}, {2, 80}, {3, 70}}, 4, 90, samples{{4, 90}, {4, 90}, {4, 90}}},
		{"the second", samples{{1, 90}, {2, 80}, {3, 70}}, 4, 80, samples{{1, 90}, {4, 80}, {4, 80}}},
		{"the third", samples{{1, 90}, {2, 80}, {3, 70}}, 4, 70, samples{{1, 90}, {2, 80}, {4, 70}}},
		{"a small one", samples{{1, 90}, {2, 80}, {3, 70}}, 4, 69, samples{{1, 90}, {2, 80}, {3, 70}}},
		{"the largest is ten rounds old", samples{{1, 90}, {2, 80}, {3, 70}}, 11, 9, samples{{1, 90}, {2, 80}, {3, 70}}},
		{"and older", samples{{1, 90}, {2, 80}, {3, 70}}, 12, 9, samples{{2, 80}, {3, 70}, {12, 9}}},
		{"two are older", samples{{1, 90}, {2, 80}, {3, 70}}, 13, 9, samples{{3, 70}, {13, 9}, {13, 9}}},
		{"all are ten rounds old", samples{{1, 90}, {1, 90}, {1, 90}}, 11, 9, samples{{1, 90}, {11, 9}, {11, 9}}},
		{"all are older", samples{{1, 90}, {1, 90}, {1, 90}}, 12, 9, samples{{12, 9}, {12, 9}, {12, 9}}},
		{"a quarter without a second", samples{{1, 90}, {1, 90}, {1, 90}}, 3, 9, samples{{1, 90}, {1, 90}, {1, 90}}},
		{"more than a quarter", samples{{1, 90}, {1, 90}, {1, 90}}, 4, 9, samples{{1, 90}, {4, 9}, {4, 9}}},
		{"half without a third", samples{{1, 90}, {3, 80}, {3, 80}}, 6, 9, samples{{1, 90}, {3, 80}, {3, 80}}},
		{"more than half", samples{{1, 90}, {3, 80}, {3, 80}}, 7, 9, samples{{1, 90}, {3, 80}, {7, 9}}},
	} {
		b.setSamples(tt.have)
		b.addSample(tt.t, tt.v)
		var got samples
		for i, p := range samplePaths {
			got[i] = bandwidthSample{b.own(p[0]), b.own(p[1])}
		}
		assert.Equal(t, tt.want, got, tt.name)
	}
}

// TestIntervalsWithLosses: an interval of four rounds or more in which 50 of 256 packets or more are
// lost tells of a policer (bbr_lt_bw_sampling).
func TestIntervalsWithLosses(t *testing.T) {
	r := moduleRig(t, uapi.VersionCode(6, 12), "tcp_bbr")
	for _, tt := range []struct {
		rounds, lost, delivered uint64
		losses                  int32
		ended                   bool
	}{
		{4, 50, 256, 1, true}, {4, 49, 256, 1, false}, {3, 50, 256, 1, true}, {2, 50, 256, 1, false}, {15, 50, 256, 1, true}, {4, 50, 0, 1, false}, {4, 50, 256, 0, false}, {4, 51, 257, 1, true}, {4, 50, 257, 1, false},
	} {
		sk := r.tcp(map[string]uint64{"lost": tt.lost, "delivered": tt.delivered, "delivered_mstamp": 5000})
		c, err := r.kernel.ConnectionAt(sk.Addr(), "bbr")
		require.NoError(t, err)
		b := &bbr{connection: &connection{Connection: c}}
		for _, f := range []string{"lt_last_stamp", "lt_last_lost", "lt_last_delivered", "lt_use_bw", "lt_bw"} {
			b.setOwn(f, 0)
		}
		b.setOwn("lt_is_sampling", 1)
		b.setOwn("round_start", 1)
		b.setOwn("lt_rtt_cnt", uint32(tt.rounds))
		b.sampleLongTerm(&rateSample{losses: tt.losses})
		require.NoError(t, c.Err)
		assert.Equal(t, tt.ended, b.own("lt_bw") != 0, "%+v", tt)
	}
}
