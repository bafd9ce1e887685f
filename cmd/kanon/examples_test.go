package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

// exampleFiles are the files that the examples of help texts name, and which file of the repository each is.
var exampleFiles = map[string]string{
	"rule.yaml":              "examples/webapp/rule.yaml",
	"parent.yaml":            "examples/webapp/parent.yaml",
	"settings.yaml":          "examples/namespace-baseline/parent.yaml",
	"extra.yaml":             "examples/namespace-baseline/rule.yaml",
	"crds/rules.yaml":        "deploy/base/crd.yaml",
	"rules/rule.yaml":        "examples/webapp/rule.yaml",
	"rules/parent.yaml":      "examples/webapp/parent.yaml",
	"rules/webapp_test.yaml": "examples/webapp/rule_test.yaml",
	"kustomization.yaml":     "cmd/kanon/testdata/kustomization.yaml",
}

// differs are the commands whose exit code 1 says that something differs.
var differs = []string{"kanon diff", "--check"}

// endless matches the examples that go on until they are interrupted.
var endless = regexp.MustCompile(`^kanon run\b|^kanon (trace|get|events)\b.* (-w|--watch)\b`)

// The examples of all help texts work, on a cluster that has their objects and a Kanon that runs their rule.
func TestExamples(t *testing.T) {
	controlplanetest.Nightly(t)
	t.Parallel()
	shell := newExampleShell(t)
	commands := 0
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n", " ")) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") || strings.Contains(line, "powershell") {
				continue // which no test machine has
			}
			commands++
			if out, err := shell.run(line); err != nil {
				t.Errorf("%s --help: %s: %v\n%s", cmd.CommandPath(), line, err, out)
			}
		}
		for _, sub := range cmd.Commands() {
			if sub.Example == "" && sub.Runnable() && !slices.Contains([]string{"help", "version"}, sub.Name()) && cmd.Name() != "completion" {
				t.Errorf("%s has no examples", sub.CommandPath())
			}
			each(sub)
		}
	}
	each(newRoot("kanon"))
	if commands < 20 {
		t.Errorf("there are %d examples", commands)
	}
}

// exampleShell runs commands in a directory that has the files of the examples.
type exampleShell struct {
	t           *testing.T
	dir         string
	environment []string
}

func newExampleShell(t *testing.T) *exampleShell {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	for name, source := range exampleFiles {
		data, err := os.ReadFile(filepath.Join("../..", source))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), data)
	}
	plane := controlplanetest.Start(t, controlplanetest.Options{})
	config, err := os.ReadFile(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "admin.kubeconfig"), config)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"kanon": program, "kubectl": plane.Kubectl} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := &exampleShell{t: t, dir: dir, environment: []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "KUBECONFIG=" + filepath.Join(dir, "admin.kubeconfig"),
		"GORACE=atexit_sleep_ms=10",
	}}
	s.setUp()
	return s
}

// setUp makes the cluster one where Kanon runs the rule webapp, and has made what storefront needs.
func (s *exampleShell) setUp() {
	s.t.Helper()
	for _, line := range []string{
		"mkdir -p .config/fish/completions",
		"kubectl create namespace shop",
		"kubectl config set-context --current --namespace shop",
		"kubectl create namespace kanon-system",
		"kanon crd rule.yaml | kubectl apply -f - --server-side",
		"kubectl wait --for condition=Established crd/webapps.shop.example.com",
		"kubectl create configmap webapp --namespace kanon-system --from-file rule.yaml",
		"kubectl label configmap webapp --namespace kanon-system kanon.dev/rules=true",
		"kubectl apply -f parent.yaml",
	} {
		if out, err := s.run(line); err != nil {
			s.t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	run := s.command("exec kanon run")
	kanon, err := kanontest.Launch(run)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = kanon.Stop() })
	if out, err := s.run("kubectl wait --for condition=Ready webapp/storefront --timeout 2m"); err != nil {
		s.t.Fatalf("%v\n%s\nthe log of kanon:\n%s", err, out, kanon.Log())
	}
}

// command is a line of shell in a process group of its own.
func (s *exampleShell) command(line string) *exec.Cmd {
	bash := exec.CommandContext(s.t.Context(), "bash", "-c", "set -euo pipefail\nfpath=(. .)\n"+line) // fpath is zsh's
	bash.Dir, bash.Env = s.dir, s.environment
	bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return bash
}

// run is what a line prints. One that is endless is interrupted once it has printed something.
func (s *exampleShell) run(line string) (string, error) {
	bash := s.command(line)
	if !endless.MatchString(line) {
		out, err := bash.CombinedOutput()
		if failed := new(exec.ExitError); errors.As(err, &failed) && failed.ExitCode() == cli.ExitFindings &&
			slices.ContainsFunc(differs, func(part string) bool { return strings.Contains(line, part) }) {
			err = nil
		}
		return string(out), err
	}
	read, err := bash.StdoutPipe()
	if err != nil {
		return "", err
	}
	bash.Stderr = bash.Stdout
	if err := bash.Start(); err != nil {
		return "", err
	}
	first, err := bufio.NewReader(read).ReadString('\n')
	_ = syscall.Kill(-bash.Process.Pid, syscall.SIGINT)
	_, _ = io.Copy(io.Discard, read)
	return first, errors.Join(err, bash.Wait())
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
