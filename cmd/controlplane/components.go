package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// clientRate is the client-side rate limit of the controllers, in requests per second, and their burst. With the
// controller manager's default of 20 per second, the garbage collection of 3,000 objects takes minutes. API Priority
// and Fairness protects the API server anyway.
const clientRate = 5000

// component is one process of the control plane.
type component struct {
	name string
	args []string
	// ready returns nil once the component serves. nil: nobody waits for the component.
	ready func(context.Context) error
}

// etcdArgs are the arguments of etcd. It listens on sockets in a directory that only the owner can enter, so it needs
// neither a port nor certificates. The advertised address must be TCP, but nobody uses it: there is only one member,
// and its only client uses the socket.
func etcdArgs(l *layout) []string {
	const quota = 8 << 30 // bytes; the most that etcd's documentation recommends
	return []string{
		"--data-dir=" + l.etcdData(),
		"--listen-client-urls=unix://" + l.etcdSocket(),
		"--listen-peer-urls=unix://" + l.etcdPeerSocket(),
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--unsafe-no-fsync",
		"--quota-backend-bytes=" + strconv.Itoa(quota),
		"--log-level=warn",
	}
}

// apiServerArgs are the arguments of kube-apiserver. Those from the options come last, so they take precedence.
func apiServerArgs(l *layout, o Options, p *port) []string {
	args := []string{
		"--etcd-servers=unix://" + l.etcdSocket(),
		"--bind-address=" + loopback().String(),
		"--advertise-address=" + loopback().String(),
		"--secure-port=" + strconv.Itoa(p.number),
		"--permit-port-sharing",
		"--tls-cert-file=" + l.certificate(),
		"--tls-private-key-file=" + l.key(),
		"--token-auth-file=" + l.tokens(),
		// A loopback address is not a valid endpoint, so the Service "kubernetes" has none.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + l.serviceAccountKey(),
		"--service-account-signing-key-file=" + l.serviceAccountKey(),
		// The plugin taints new Nodes until the node lifecycle controller removes the taint. That controller does not
		// run, as nothing keeps fake nodes alive.
		"--disable-admission-plugins=TaintNodesByCondition",
		"--allow-privileged",
		"--profiling=false",
	}
	if o.AuditLog != "" {
		args = append(args,
			"--audit-policy-file="+l.auditPolicy(),
			"--audit-log-path="+o.AuditLog,
			// A record is in the file before its request is answered.
			"--audit-log-mode=blocking-strict",
		)
	}
	return append(args, o.APIArgs...)
}

// notServing is the argument of servers that nobody asks for anything.
const notServing = "--secure-port=0"

// controllerManagerArgs are the arguments of kube-controller-manager.
func controllerManagerArgs(l *layout, controllers []string) []string {
	return []string{
		notServing,
		"--kubeconfig=" + l.client(controllerManagerName),
		"--controllers=" + strings.Join(controllers, ","),
		"--kube-api-qps=" + strconv.Itoa(clientRate),
		"--kube-api-burst=" + strconv.Itoa(clientRate),
		"--leader-elect=false",
		"--profiling=false",
		"--root-ca-file=" + l.certificate(),
		"--service-account-private-key-file=" + l.serviceAccountKey(),
	}
}

// schedulerArgs are the arguments of kube-scheduler. The other settings have no flags and are in a file.
func schedulerArgs(l *layout) []string { return []string{notServing, "--config=" + l.schedulerConf()} }

// writeSchedulerConfig writes the scheduler's configuration file. Pods that fit on no node are retried after one
// second, and not after up to ten.
func writeSchedulerConfig(l *layout) error {
	text := fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: %d, burst: %d}
leaderElection: {leaderElect: false}
enableProfiling: false
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
`, l.client(schedulerName), clientRate, clientRate)
	if err := os.WriteFile(l.schedulerConf(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write configuration of %s: %w", schedulerName, err)
	}
	return nil
}

// writeAuditPolicy writes a policy that records each request once, after the response, without its body. A watch is
// recorded at its start and its end.
func writeAuditPolicy(l *layout) error {
	const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`
	if err := os.WriteFile(l.auditPolicy(), []byte(policy), 0o600); err != nil {
		return fmt.Errorf("write audit policy: %w", err)
	}
	return nil
}
