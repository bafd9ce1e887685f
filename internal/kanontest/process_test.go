package kanontest

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// launch runs a shell script in place of kanon.
func launch(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Launch(exec.CommandContext(t.Context(), "sh", "-c", script))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAwaitLog(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := launch(t, `echo first >&2; read line; echo second >&2`) // standard input is empty
	for _, word := range []string{"second", "first"} {
		if line, err := p.AwaitLog(regexp.MustCompile("^" + word[:3])); err != nil || line != word {
			t.Errorf("found %q, %v; want %q", line, err, word)
		}
	}
	if line, err := p.AwaitLog(regexp.MustCompile("third")); err == nil {
		t.Errorf("found %q in the log of a program that has ended", line)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

func TestStop(t *testing.T) {
	const trap = `sleep 600 2>/dev/null & trap "kill $!; exit %" TERM; echo ready >&2; wait`
	tests := map[string]struct{ script, want string }{
		"ends well":        {strings.ReplaceAll(trap, "%", "0"), ""},
		"ends badly":       {strings.ReplaceAll(trap, "%", "3"), "exit status 3"},
		"leaves a child":   {`sleep 600 & trap "exit 0" TERM; echo "$! ready" >&2; wait`, exec.ErrWaitDelay.Error()},
		"is killed":        {`echo ready >&2; exec sleep 600`, "signal: terminated"},
		"leaves its stack": {`trap "exit 0" TERM; printf 'ready\ngoroutine 1 [running]:\n' >&2`, "goroutine's stack"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			p := launch(t, test.script)
			line, err := p.AwaitLog(regexp.MustCompile("ready"))
			if err != nil {
				t.Fatal(err)
			}
			if child, err := strconv.Atoi(strings.TrimSuffix(line, " ready")); err == nil {
				defer func() { _ = syscall.Kill(child, syscall.SIGKILL) }()
			}
			for range 2 { // it may be called again
				err := p.Stop()
				if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("Stop says %v, want %q", err, test.want)
				}
			}
		})
	}
}
