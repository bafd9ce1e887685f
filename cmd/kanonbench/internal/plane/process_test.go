package plane

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

func TestDescends(t *testing.T) {
	stats := map[int]procfs.ProcStat{10: {PPID: 1}, 11: {PPID: 10}, 12: {PPID: 11}, 20: {PPID: 1}, 31: {PPID: 32}, 32: {PPID: 31}}
	for pid, want := range map[int]bool{10: true, 11: true, 12: true, 20: false, 31: false, 99: false} {
		if got := descends(stats, pid, 10); got != want {
			t.Errorf("descends(%d) = %t", pid, got)
		}
	}
}

func TestProcess(t *testing.T) {
	p, err := StartProcess(ProcessOptions{}, "sleep", "600")
	if err != nil {
		t.Fatal(err)
	}
	usage, err := ReadUsage(p.PID())
	if err != nil || usage.Resident == 0 || usage.Peak < usage.Resident {
		t.Errorf("sleep uses %+v, error %v", usage, err)
	}
	if _, err := p.Settle(t.Context()); err != nil {
		t.Errorf("sleep is not at rest: %v", err)
	}
	// sleep has no handler for SIGTERM.
	if err := p.Stop(); err == nil {
		t.Error("a process that a signal ended counts as one that ended well")
	}
}

func TestBusyProcess(t *testing.T) {
	p, err := StartProcess(ProcessOptions{}, "sh", "-c", "while :; do :; done")
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
	p, err := StartProcess(ProcessOptions{}, "true")
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if p.Stop() == nil {
		t.Error("that it ended by itself is not reported")
	}
}
