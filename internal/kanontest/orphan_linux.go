package kanontest

import (
	"os/exec"
	"syscall"
)

// endWithParent ends a command if this process ends without stopping it, such as a test binary after a timeout.
func endWithParent(command *exec.Cmd) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
