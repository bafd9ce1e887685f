package process

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	const rest = " 1 1 0 -1 4194560 100 0 0 0 250 50 9 9 20 0 8 0 3812 1 1\n"
	for name, test := range map[string]struct {
		line string
		want stat
		fail bool
	}{
		"plain":             {line: "42 (kanon) S 7" + rest, want: stat{parent: 7, cpu: 3 * time.Second}},
		"odd program names": {line: "42 (a) S 9 (b) R 7" + rest, want: stat{parent: 7, cpu: 3 * time.Second}},
		"no name":           {line: "42 kanon S 7" + rest, fail: true},
		"too short":         {line: "42 (kanon) S 7 1 1", fail: true},
		"no number":         {line: "42 (kanon) S x" + rest, fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat(test.line)
			if (err != nil) != test.fail {
				t.Fatalf("error %v, want one: %t", err, test.fail)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(stat{})); !test.fail && diff != "" {
				t.Errorf("stat (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseBusy(t *testing.T) {
	got, err := parseBusy("cpu  100 20 30 9999 888 4 5 0 0 0\ncpu0 1 1 1 1 1 1 1\n")
	if want := 1590 * time.Millisecond; err != nil || got != want {
		t.Errorf("busy %s, error %v; want %s", got, err, want)
	}
	for name, text := range map[string]string{"empty": "", "other": "intr 1 2 3 4 5 6 7 8", "no number": "cpu 1 2 x 4 5 6 7"} {
		t.Run(name, func(t *testing.T) {
			if got, err := parseBusy(text); err == nil {
				t.Errorf("it was read as %s", got)
			}
		})
	}
}

func TestStatusBytes(t *testing.T) {
	status := []byte("Name:\tkanon\nVmHWM:\t   2048 kB\nVmRSS:\t 1024 kB\nVmOdd:\t 7 pages\n")
	if got, err := statusBytes(status, "VmRSS"); err != nil || got != 1<<20 {
		t.Errorf("VmRSS = %d, error %v", got, err)
	}
	for _, key := range []string{"VmSwap", "VmOdd"} {
		if got, err := statusBytes(status, key); err == nil {
			t.Errorf("%s was read as %d", key, got)
		}
	}
}

func TestDescends(t *testing.T) {
	stats := map[int]stat{10: {parent: 1}, 11: {parent: 10}, 12: {parent: 11}, 20: {parent: 1}, 31: {parent: 32}, 32: {parent: 31}}
	for pid, want := range map[int]bool{10: true, 11: true, 12: true, 20: false, 31: false, 99: false} {
		if got := descends(stats, pid, 10); got != want {
			t.Errorf("descends(%d) = %t", pid, got)
		}
	}
}

func TestProcess(t *testing.T) {
	p, err := Start(Options{}, "cat")
	if err != nil {
		t.Fatal(err)
	}
	usage, err := Read(p.PID())
	if err != nil || usage.Resident == 0 || usage.Peak < usage.Resident {
		t.Errorf("cat uses %+v, error %v", usage, err)
	}
	if _, err := p.Settle(t.Context()); err != nil {
		t.Errorf("cat is not at rest: %v", err)
	}
	// cat has no handler for SIGTERM.
	if err := p.Stop(); err == nil {
		t.Error("a process that a signal ended counts as one that ended well")
	}
}

func TestBusyProcess(t *testing.T) {
	p, err := Start(Options{}, "sh", "-c", "while :; do :; done")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop() //nolint:errcheck // it ends by the signal
	// Until it has used a tick of CPU, the looking itself passes the time.
	for begun := time.Now(); ; {
		cpu, err := TreeCPU(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if cpu > 0 {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("a loop uses no CPU")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Settle(ctx); err == nil {
		t.Error("it settled")
	}
}

func TestStopOfOneThatHasEnded(t *testing.T) {
	p, err := Start(Options{}, "true")
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if p.Stop() == nil {
		t.Error("that it ended by itself is not reported")
	}
}
