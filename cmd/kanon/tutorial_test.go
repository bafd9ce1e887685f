package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

// The commands of the tutorial work, one after the other, on a cluster of their own, and print what the page shows.
func TestTutorial(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := fencesOf(string(page))
	dir, bin := t.TempDir(), t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"kanon": program, "kubectl": controlplanetest.Kubectl(t)} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	var script strings.Builder
	script.WriteString("set -euo pipefail\ntrap 'kill $(jobs -p) 2> jobs.log || true' EXIT\n") // a command that fails leaves no kanon behind
	for i, block := range blocks {
		if block.language == "sh" {
			text := strings.ReplaceAll(block.text, "kanon run ", "kanon "+strings.Join(kanontest.WithoutPorts([]string{"run"}), " ")+" ")
			fmt.Fprintf(&script, "echo '::: %d'\n%s", i, text)
		}
	}
	config := filepath.Join(dir, "kubeconfig")
	data, err := os.ReadFile(controlplanetest.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, data, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // less than go test gives a package, so that the output is shown
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-c", script.String())
	bash.Dir = dir
	bash.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "KUBECONFIG=" + config, "GORACE=atexit_sleep_ms=10"}
	kanontest.EndTogether(bash)
	out, err := bash.CombinedOutput()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "kanon.log"))
		t.Fatalf("%v\n%s\nthe log of kanon:\n%s", err, out, log)
	}
	wanted := 0
	for i, block := range blocks {
		if block.language != "console" {
			continue
		}
		printed := after(string(out), i)
		for line := range strings.Lines(block.text) {
			wanted++
			if !strings.Contains(printed, strings.TrimSpace(line)) {
				t.Errorf("after the commands before line %d, there is no %q in\n%s", block.line, line, printed)
			}
		}
	}
	if wanted < 10 {
		t.Errorf("the page shows %d lines of output", wanted)
	}
}

// fence is a block of code in a page.
type fence struct {
	language, text string
	line           int
}

func fencesOf(page string) []fence {
	var blocks []fence
	var open *fence
	n := 0
	for line := range strings.Lines(page) {
		n++
		mark, isFence := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "```")
		switch {
		case isFence && open == nil:
			open = &fence{language: mark, line: n}
		case isFence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line
		}
	}
	return blocks
}

// after is what the commands printed that stand before a block.
func after(out string, block int) string {
	for i := block - 1; i >= 0; i-- {
		if _, printed, ok := strings.Cut(out, fmt.Sprintf("::: %d\n", i)); ok {
			printed, _, _ = strings.Cut(printed, "\n::: ")
			return printed + "\n"
		}
	}
	return ""
}
