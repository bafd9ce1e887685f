package kanontest

import (
	"os/exec"
	"syscall"
	"time"
)

// EndTogether has a command, which exec.CommandContext has made, run in a process group of its own. When its context ends, all that
// it started and left in the group is killed with it: the command alone would leave its children behind.
func EndTogether(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(command)
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 10 * time.Second // a process that has left the group may hold the output
}
