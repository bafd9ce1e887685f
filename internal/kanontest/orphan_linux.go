package kanontest

import (
	"os/exec"
	"syscall"
)

// endWithParent ends a command when this process ends without stopping it, as a
// test binary does whose time is up.
func endWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
