package kanontest

import (
	"context"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// What a shell runs in the background ends with the shell when its context does: nobody holds its output any more.
func TestEndTogether(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = read.Close() }()
	shell := exec.CommandContext(ctx, "sh", "-c", "sleep 60 & echo started; wait")
	shell.Stdout = write
	EndTogether(shell)
	err = shell.Start()
	_ = write.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(read, make([]byte, len("started\n"))); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := shell.Wait(); err == nil {
		t.Error("the shell ended by itself")
	}
	if err := read.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(read); err != nil {
		t.Errorf("the child of the shell did not end with it: %v", err)
	}
}
