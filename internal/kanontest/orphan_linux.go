package kanontest

import (
	"os/exec"
	"syscall"
)

// endWithParent ends a command when this process ends without stopping it, as a
// test binary does whose time is up.
func endWithParent(command *exec.Cmd) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
