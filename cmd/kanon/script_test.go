package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/util/wait"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

var update = flag.Bool("update", false, "rewrite the wanted outputs in testdata/script")

// TestMain makes this test binary the program kanon, too, for the scripts.
func TestMain(m *testing.M) {
	testscript.Main(sharing{m}, map[string]func(){"kanon": main, "kubectl-kanon": main})
}

// linkKanon returns the path of the program kanon, which is this test binary.
func linkKanon(tb testing.TB) string {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	link := filepath.Join(tb.TempDir(), "kanon")
	if err := os.Symlink(program, link); err != nil {
		tb.Fatal(err)
	}
	return link
}

// sharing runs tests that share a control plane.
type sharing struct{ m *testing.M }

func (s sharing) Run() int { return controlplanetest.MainWith(s.m, controlplanetest.Options{}) } // some define Rule objects

// TestScripts runs testdata/script. Beside testscript's own commands there are:
//
//	exits CODE COMMAND...   the command ends with that exit code
//	quiet                   standard error of the last command has nothing but lines that end in …, which say that a cluster is slow
//	cluster                 $KUBECONFIG is a real cluster's, $NAMESPACE a new namespace in it, and $RULES_CRD the definition of Rule objects
//	kubectl ARGUMENT...     in that namespace
//	refused ARGUMENT...     the same for what kubectl fails with
//	allowed USER VERB RESOURCE [ARGUMENT...]
//	                        the API server goes by a right there that was granted; the arguments are those of kubectl
//	start ARGUMENT...       kanon runs with the arguments, beside the script
//	await REGEXP            its log gets a line that matches
//	follow ARGUMENT...      kanon runs with the arguments, too, such as get -w
//	shows REGEXP            it prints a line that matches
//	unfollow                SIGTERM ends it with exit code 0
//	terminate               SIGTERM ends it with exit code 0; its log is kanon.log then
//	fetch CODE ENDPOINT PATH [TOKEN]
//	                        what kanon serves there is answered with that code, and the body is in the file body;
//	                        TOKEN is a file with a bearer token
//	silent PATH...          $SERVER is an API server that answers to these paths alone, and to others never
//	jsonlines FILE          each line is a JSON object with time, level and msg
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUp,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":     command((*script).exits),
			"quiet":     command((*script).quiet),
			"cluster":   command((*script).cluster),
			"kubectl":   command((*script).kubectl),
			"refused":   command((*script).refused),
			"allowed":   command((*script).allowed),
			"start":     command((*script).start),
			"await":     command((*script).await),
			"follow":    command((*script).follow),
			"shows":     command((*script).shows),
			"unfollow":  command((*script).unfollow),
			"terminate": command((*script).terminate),
			"fetch":     command((*script).fetch),
			"silent":    command((*script).silent),
			"jsonlines": command((*script).jsonLines),
		},
	})
}

// script is a run of one script.
type script struct {
	*testscript.TestScript
	tb testing.TB
	// kanon is the one that was started, and follower the one that follows something; nil when there is none.
	kanon, follower *kanontest.Process
}

type scriptKey struct{}

func setUp(env *testscript.Env) error {
	tb, ok := env.T().(testing.TB)
	if !ok {
		return errors.New("scripts are run by go test")
	}
	env.Values[scriptKey{}] = &script{tb: tb}
	env.Setenv("GORACE", "atexit_sleep_ms=10") // else each kanon with the race detector takes a second to end
	return nil
}

// command makes a method a command of scripts.
func command(do func(s *script, args []string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		s, ok := ts.Value(scriptKey{}).(*script)
		if neg || !ok {
			ts.Fatalf("this command cannot be negated")
		}
		s.TestScript = ts
		do(s, args)
	}
}

func (s *script) exits(args []string) {
	want, err := strconv.Atoi(args[0])
	s.Check(err)
	got := 0
	if err := s.Exec(args[1], args[2:]...); err != nil {
		exit := new(exec.ExitError)
		if !errors.As(err, &exit) {
			s.Fatalf("run %s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		s.Fatalf("the exit code is %d, want %d", got, want)
	}
}

func (s *script) quiet([]string) {
	for line := range strings.Lines(s.ReadFile("stderr")) {
		if !strings.HasSuffix(line, "…\n") {
			s.Fatalf("standard error has %q", line)
		}
	}
}

func (s *script) cluster([]string) {
	config := controlplanetest.Config(s.tb)
	s.Setenv("KUBECONFIG", controlplanetest.Kubeconfig(s.tb))
	s.Setenv("NAMESPACE", controlplanetest.Namespace(s.tb, config))
	definition, err := filepath.Abs("../../deploy/base/crd.yaml")
	s.Check(err)
	s.Setenv("RULES_CRD", definition)
}

func (s *script) kubectl(args []string) {
	s.Check(s.inNamespace(args))
}

func (s *script) refused(args []string) {
	if s.inNamespace(args) == nil {
		s.Fatalf("kubectl succeeds")
	}
}

// allowed waits, because the authorizer goes by a role and its binding a moment after they were stored.
func (s *script) allowed(args []string) {
	s.Check(wait.PollUntilContextTimeout(s.tb.Context(), fetchPause, fetchPatience, true, func(context.Context) (bool, error) {
		return s.inNamespace(append([]string{"auth", "can-i", "--quiet", "--as"}, args...)) == nil, nil
	}))
}

func (s *script) inNamespace(args []string) error {
	return s.Exec(controlplanetest.Kubectl(s.tb), append([]string{"--namespace", s.Getenv("NAMESPACE")}, args...)...)
}

func (s *script) start(args []string) { s.kanon = s.launch(args) }

func (s *script) follow(args []string) { s.follower = s.launch(args) }

// launch starts kanon beside the script, and ends it with the script.
func (s *script) launch(args []string) *kanontest.Process {
	program, err := exec.LookPath("kanon") // testscript put it there
	s.Check(err)
	run := exec.Command(program, kanontest.WithoutPorts(args)...) //nolint:noctx // ended by stop, or with the script
	run.Dir = s.MkAbs(".")
	run.Env = []string{"PATH=" + s.Getenv("PATH"), "HOME=" + s.Getenv("HOME"), "KUBECONFIG=" + s.Getenv("KUBECONFIG")}
	process, err := kanontest.Launch(run)
	s.Check(err)
	s.Defer(func() {
		if s.kanon == process || s.follower == process { // the script failed before it terminated it
			_ = process.Stop() // which says why it failed
			s.Logf("the log of kanon:\n%s", process.Log())
		}
	})
	return process
}

func (s *script) await(args []string) {
	_, err := s.kanon.AwaitLog(regexp.MustCompile(args[0]))
	s.Check(err)
}

func (s *script) shows(args []string) {
	_, err := s.follower.AwaitLog(regexp.MustCompile(args[0]))
	s.Check(err)
}

func (s *script) unfollow([]string) {
	s.Check(s.follower.Stop())
	s.follower = nil
}

func (s *script) terminate([]string) {
	s.Check(s.kanon.Stop())
	s.Check(os.WriteFile(s.MkAbs("kanon.log"), []byte(s.kanon.Log()), 0o600))
	s.kanon = nil
}

// How often, and how long, a fetch asks again.
const (
	fetchPause    = 50 * time.Millisecond
	fetchPatience = 4 * time.Minute
)

func (s *script) fetch(args []string) {
	token := ""
	if len(args) > 3 {
		token = s.ReadFile(args[3])
	}
	again := time.NewTicker(fetchPause)
	defer again.Stop()
	code, body := s.kanon.Fetch(s.tb, args[1], args[2], token)
	// As a kubelet does: what is not ready now may be the next time.
	for deadline := time.Now().Add(fetchPatience); strconv.Itoa(code) != args[0] && time.Now().Before(deadline); {
		<-again.C
		code, body = s.kanon.Fetch(s.tb, args[1], args[2], token)
	}
	s.Check(os.WriteFile(s.MkAbs("body"), []byte(body), 0o600))
	if got := strconv.Itoa(code); got != args[0] {
		s.Fatalf("%s is answered with %s, want %s:\n%s", args[2], got, args[0], body)
	}
}

func (s *script) silent(paths []string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(paths, r.URL.Path) {
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(`{"gitVersion": "v1.36.0"}`)) // who asked may be gone
	}))
	s.Defer(server.Close)
	s.Setenv("SERVER", server.URL)
}

func (s *script) jsonLines(args []string) {
	text := s.ReadFile(filepath.Clean(args[0]))
	if text == "" {
		s.Fatalf("%s is empty", args[0])
	}
	for line := range strings.Lines(text) {
		var entry struct{ Time, Level, Msg string }
		s.Check(json.Unmarshal([]byte(line), &entry))
		if entry.Time == "" || entry.Level == "" || entry.Msg == "" {
			s.Fatalf("there is no time, level or msg in %s", line)
		}
	}
}
