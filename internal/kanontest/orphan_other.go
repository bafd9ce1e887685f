//go:build !linux

package kanontest

import "os/exec"

// endWithParent does nothing: only Linux has a signal for it.
func endWithParent(*exec.Cmd) {}
