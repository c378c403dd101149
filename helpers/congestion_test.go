package helpers

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// tcp is a connection with these fields of struct tcp_sock.
func (r *rig) tcp(fields map[string]uint64) *object.Object {
	r.t.Helper()
	o, err := r.kernel.NewObjectNamed("sk", "tcp_sock")
	require.NoError(r.t, err)
	for _, f := range []string{"snd_cwnd_cnt", "max_packets_out", "is_cwnd_limited", "prior_cwnd", "tcp_mstamp", "snd_nxt", "snd_una", "lsndtime"} {
		require.NoError(r.t, o.SetUint(f, 0))
	}
	require.NoError(r.t, o.SetUint("snd_cwnd_clamp", 1<<20))
	require.NoError(r.t, o.SetUint("is_cwnd_limited", 1))
	for f, v := range fields {
		require.NoError(r.t, o.SetUint(f, v))
	}
	return o
}

func fields(t *testing.T, o *object.Object, want map[string]uint64) {
	t.Helper()
	for f, v := range want {
		got, err := o.Uint(f)
		require.NoError(t, err)
		assert.Equal(t, v, got, f)
	}
}

// TestReno: windows at and around the threshold, the clamp and the count (net/ipv4/tcp_cong.c).
func TestReno(t *testing.T) {
	type state map[string]uint64
	for _, tt := range []struct {
		name, fn    string
		have, after state
		args        []uint64
		want        uint64
	}{
		{"slow start", "tcp_slow_start", state{"snd_cwnd": 10, "snd_ssthresh": 100}, state{"snd_cwnd": 13}, []uint64{3}, 0},
		{"slow start of none", "tcp_slow_start", state{"snd_cwnd": 10, "snd_ssthresh": 100}, state{"snd_cwnd": 10}, []uint64{0}, 0},
		{"slow start up to the threshold", "tcp_slow_start", state{"snd_cwnd": 98, "snd_ssthresh": 100}, state{"snd_cwnd": 100}, []uint64{5}, 3},
		{"slow start up to the clamp", "tcp_slow_start", state{"snd_cwnd": 10, "snd_ssthresh": 100, "snd_cwnd_clamp": 11}, state{"snd_cwnd": 11}, []uint64{5}, 0},
		{"one below", "tcp_cong_avoid_ai", state{"snd_cwnd": 10, "snd_cwnd_cnt": 8}, state{"snd_cwnd": 10, "snd_cwnd_cnt": 9}, []uint64{10, 1}, 0},
		{"a whole window", "tcp_cong_avoid_ai", state{"snd_cwnd": 10, "snd_cwnd_cnt": 9}, state{"snd_cwnd": 11, "snd_cwnd_cnt": 0}, []uint64{10, 1}, 0},
		{"credits of a larger window", "tcp_cong_avoid_ai", state{"snd_cwnd": 10, "snd_cwnd_cnt": 12}, state{"snd_cwnd": 11, "snd_cwnd_cnt": 1}, []uint64{10, 1}, 0},
		{"many", "tcp_cong_avoid_ai", state{"snd_cwnd": 10}, state{"snd_cwnd": 15, "snd_cwnd_cnt": 1}, []uint64{2, 11}, 0},
		{"the clamp", "tcp_cong_avoid_ai", state{"snd_cwnd": 10, "snd_cwnd_clamp": 10}, state{"snd_cwnd": 10}, []uint64{1, 5}, 0},
		{"threshold", "tcp_reno_ssthresh", state{"snd_cwnd": 9}, nil, nil, 4},
		{"least threshold", "tcp_reno_ssthresh", state{"snd_cwnd": 3}, nil, nil, 2},
		{"undo", "tcp_reno_undo_cwnd", state{"snd_cwnd": 9, "prior_cwnd": 20}, nil, nil, 20},
		{"nothing to undo", "tcp_reno_undo_cwnd", state{"snd_cwnd": 9, "prior_cwnd": 8}, nil, nil, 9},
		{"limited by the application", "tcp_reno_cong_avoid", state{"snd_cwnd": 10, "snd_ssthresh": 5, "is_cwnd_limited": 0}, state{"snd_cwnd": 10, "snd_cwnd_cnt": 0}, []uint64{0, 3}, 0},
		{"slow start with half the window used", "tcp_reno_cong_avoid", state{"snd_cwnd": 10, "snd_ssthresh": 50, "is_cwnd_limited": 0, "max_packets_out": 6}, state{"snd_cwnd": 13}, []uint64{0, 3}, 0},
		{"slow start with less used", "tcp_reno_cong_avoid", state{"snd_cwnd": 10, "snd_ssthresh": 50, "is_cwnd_limited": 0, "max_packets_out": 5}, state{"snd_cwnd": 10}, []uint64{0, 3}, 0},
		{"across the threshold", "tcp_reno_cong_avoid", state{"snd_cwnd": 49, "snd_ssthresh": 50}, state{"snd_cwnd": 50, "snd_cwnd_cnt": 2}, []uint64{0, 3}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, newest)
			o := r.tcp(tt.have)
			assert.Equal(t, tt.want, r.kok(tt.fn, append([]uint64{o.Addr()}, tt.args...)...))
			fields(t, o, tt.after)
		})
	}
}

// TestCubic follows a connection through slow start, a loss and growth along the curve.
func TestCubic(t *testing.T) {
	r := newRig(t, newest)
	o := r.tcp(map[string]uint64{"snd_cwnd": 100, "snd_ssthresh": 1 << 30, "tcp_mstamp": 5_000_000, "snd_nxt": 77, "max_packets_out": 100})
	sk := o.Addr()
	own := func(name string) uint64 {
		c, err := r.kernel.ConnectionAt(sk, "bictcp")
		require.NoError(t, err)
		v := c.Own(name)
		require.NoError(t, c.Err)
		return v
	}
	r.kok("cubictcp_init", sk)
	for f, want := range map[string]uint64{"cnt": 0, "epoch_start": 0, "round_start": 5_000_000, "end_seq": 77, "curr_rtt": 0xffffffff, "found": 0} {
		assert.Equal(t, want, own(f), f)
	}
	r.kok("cubictcp_cong_avoid", sk, 0, 10)
	fields(t, o, map[string]uint64{"snd_cwnd": 110})

	sample := func(us int32) uint64 {
		s, err := r.kernel.NewObjectNamed("sample", "ack_sample")
		require.NoError(t, err)
		require.NoError(t, s.SetUint("rtt_us", uint64(uint32(us))))
		return s.Addr()
	}
	r.kok("cubictcp_acked", sk, sample(-1))
	assert.Zero(t, own("delay_min"), "a duplicate has no time")
	for range 8 {
		r.kok("cubictcp_acked", sk, sample(20_000))
	}
	assert.Equal(t, uint64(20_000), own("delay_min"))
	assert.Equal(t, uint64(8), own("sample_cnt"))
	assert.Zero(t, own("found"))
	require.NoError(t, o.SetUint("snd_una", 78)) // a new round
	require.NoError(t, o.SetUint("snd_nxt", 100))
	for range 9 {
		r.kok("cubictcp_acked", sk, sample(30_000))
	}
	assert.Equal(t, uint64(1), own("found"), "the delay grew by more than 4 ms")
	fields(t, o, map[string]uint64{"snd_ssthresh": 110})

	assert.Equal(t, uint64(110*717/1024), r.kok("cubictcp_recalc_ssthresh", sk))
	assert.Equal(t, uint64(110), own("last_max_cwnd"))
	require.NoError(t, o.SetUint("snd_cwnd", 77))
	require.NoError(t, o.SetUint("snd_ssthresh", 77))
	assert.Equal(t, uint64(77*717/1024), r.kok("cubictcp_recalc_ssthresh", sk))
	assert.Equal(t, uint64(77*(1024+717)/2048), own("last_max_cwnd"), "a second loss below the last window gives way")

	for _, step := range []struct{ cwnd, acked uint64 }{{60, 1}, {60, 20}} {
		require.NoError(t, o.SetUint("snd_cwnd", step.cwnd))
		require.NoError(t, o.SetUint("snd_ssthresh", 50))
		r.kok("cubictcp_cong_avoid", sk, 0, step.acked)
	}
	k := own("bic_K") // (65 - 60) / c, cube root, in 1/1024 s
	want := new(big.Int).Mul(big.NewInt((1<<40)/410), big.NewInt(5))
	assert.LessOrEqual(t, new(big.Int).Exp(big.NewInt(int64(k)), big.NewInt(3), nil).Cmp(want), 0)
	assert.Positive(t, new(big.Int).Exp(big.NewInt(int64(k+1)), big.NewInt(3), nil).Cmp(want))
	assert.Equal(t, uint64(65), own("bic_origin_point"))
	assert.GreaterOrEqual(t, own("cnt"), uint64(2))

	start := own("epoch_start")
	require.NotZero(t, start)
	require.NoError(t, o.SetUint("lsndtime", start-10))
	r.kok("cubictcp_cwnd_event", sk, 1)
	assert.Equal(t, start, own("epoch_start"), "only sending after a pause moves the epoch")
	r.kok("cubictcp_cwnd_event", sk, 0)
	r.kok("cubictcp_cwnd_event_tx_start", sk)
	assert.Equal(t, start, own("epoch_start"), "an epoch does not begin in the future")

	r.kok("cubictcp_state", sk, 3)
	assert.NotZero(t, own("epoch_start"))
	r.kok("cubictcp_state", sk, 4)
	assert.Zero(t, own("epoch_start"))
}

// TestCongestionErrors: addresses that are no TCP socket, a division by zero.
func TestCongestionErrors(t *testing.T) {
	r := newRig(t, newest)
	udp, err := r.kernel.NewObjectNamed("sk", "udp_sock")
	require.NoError(t, err)
	sk := r.tcp(map[string]uint64{"snd_cwnd": 10}).Addr()
	for _, row := range congestionKfuncs {
		for _, addr := range []uint64{0, udp.Addr(), sk + 8, 1 << 63} {
			_, f := r.kfunc(row.Name, addr, 1, 1)
			require.NotNil(t, f, row.Name)
			assert.Equal(t, vm.BadArgument, f.Kind)
		}
	}
	_, f := r.kfunc("tcp_cong_avoid_ai", sk, 0, 1)
	require.NotNil(t, f)
	_, f = r.kfunc("cubictcp_acked", sk, 0)
	require.NotNil(t, f)

	r.env.Run = NewRun(uapi.ProgTypeStructOps, 0)
	assert.Zero(t, r.ok(uapi.FuncTcpSendAck, sk, 1<<32|9))
	assert.Equal(t, []Event{{Kind: TCPAck, Number: 9}}, r.env.Run.Events)
	_, f = r.call(uapi.FuncTcpSendAck, udp.Addr(), 9)
	require.NotNil(t, f)
}

func TestCubeRoot(t *testing.T) {
	for _, c := range []struct {
		a    uint64
		want uint32
	}{{0, 0}, {1, 1}, {7, 1}, {8, 2}, {26, 2}, {27, 3}, {1 << 60, 1 << 20}, {1<<60 - 1, 1<<20 - 1}, {^uint64(0), 2642245}} {
		assert.Equal(t, c.want, cubeRoot(c.a), "%d", c.a)
	}
}
