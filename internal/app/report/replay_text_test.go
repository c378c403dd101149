package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReplaysSayWhatWasNotRun(t *testing.T) {
	for _, tt := range []struct {
		name   string
		replay Replay
		want   []string
	}{
		{"verdicts", Replay{Packets: 3, Verdicts: map[string]int{"XDP_DROP": 1, "XDP_PASS": 2}}, []string{"verdicts 2 XDP_PASS, 1 XDP_DROP"}},
		{"no packet", Replay{}, []string{"warning: there is no packet in the capture"}},
		{"one too short", Replay{Packets: 1, Skipped: 1, SkippedWhy: "packet 1: too short"}, []string{"warning: 1 packet was not run: packet 1: too short"}},
		{"two too short", Replay{Packets: 3, Skipped: 2, SkippedWhy: "packet 2: too short", Verdicts: map[string]int{"XDP_PASS": 1}},
			[]string{"verdicts 1 XDP_PASS", "warning: 2 packets were not run; the first: packet 2: too short"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			item := func(kind, text string) { b.WriteString(kind + " " + text + "\n") }
			writeReplay(&b, &tt.replay, item, style{}, TableOptions{})
			var got []string
			for line := range strings.Lines(b.String()) {
				got = append(got, strings.TrimSpace(line))
			}
			require.Equal(t, tt.want, got)
		})
	}
}
