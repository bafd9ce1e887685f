package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// clientRate is the rate of requests per second, and their burst, that the
// controllers allow themselves. At the controller manager's default of 20 a
// second the garbage collection of 3,000 objects takes minutes; API Priority
// and Fairness protects the API server either way.
const clientRate = 5000

// component is one process of the control plane.
type component struct {
	name string
	args []string
	// ready returns nil when the component serves. nil: nobody waits for it.
	ready func(context.Context) error
}

// etcdArgs are etcd's arguments. It listens on sockets in a directory that only
// its owner can enter, so it needs neither a port nor certificates. What it
// advertises must be a TCP address and is used by nobody: it is the only member,
// and its only client knows the socket.
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

// apiServerArgs are kube-apiserver's arguments; those of the options come last
// and so prevail.
func apiServerArgs(l *layout, o Options, p *port) []string {
	args := slices.Concat([]string{
		"--etcd-servers=unix://" + l.etcdSocket(),
		"--bind-address=" + loopback().String(),
		"--advertise-address=" + loopback().String(),
		// A loopback address is not a valid endpoint, so the Service
		// "kubernetes" has none.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=RBAC",
		"--client-ca-file=" + l.certificate(clusterCAName),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + l.key(serviceAccountName),
		"--service-account-signing-key-file=" + l.key(serviceAccountName),
		"--requestheader-client-ca-file=" + l.certificate(proxyCAName),
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + l.certificate(proxyClientName),
		"--proxy-client-key-file=" + l.key(proxyClientName),
		"--enable-aggregator-routing",
		// It taints new Nodes until the node lifecycle controller has looked at
		// them. That controller does not run: nothing keeps fake nodes alive.
		"--disable-admission-plugins=TaintNodesByCondition",
		"--allow-privileged",
		"--profiling=false",
	}, servingArgs(l, p))
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

// controllerManagerArgs are kube-controller-manager's arguments.
func controllerManagerArgs(l *layout, controllers []string, p *port) []string {
	return slices.Concat([]string{
		"--kubeconfig=" + l.client(controllerManagerName),
		"--authentication-kubeconfig=" + l.client(controllerManagerName),
		"--authorization-kubeconfig=" + l.client(controllerManagerName),
		"--bind-address=" + loopback().String(),
		"--controllers=" + strings.Join(controllers, ","),
		"--kube-api-qps=" + strconv.Itoa(clientRate),
		"--kube-api-burst=" + strconv.Itoa(clientRate),
		"--leader-elect=false",
		"--profiling=false",
		"--root-ca-file=" + l.certificate(clusterCAName),
		"--service-account-private-key-file=" + l.key(serviceAccountName),
	}, servingArgs(l, p))
}

// schedulerArgs are kube-scheduler's arguments; the rest is in a file, because
// the scheduler has no flags for it.
func schedulerArgs(l *layout, p *port) []string {
	return slices.Concat([]string{
		"--config=" + l.schedulerConf(),
		"--authentication-kubeconfig=" + l.client(schedulerName),
		"--authorization-kubeconfig=" + l.client(schedulerName),
		"--bind-address=" + loopback().String(),
	}, servingArgs(l, p))
}

// servingArgs are the arguments that all Kubernetes servers share.
func servingArgs(l *layout, p *port) []string {
	return []string{
		"--secure-port=" + strconv.Itoa(p.number),
		"--permit-port-sharing",
		"--tls-cert-file=" + l.certificate(servingName),
		"--tls-private-key-file=" + l.key(servingName),
	}
}

// writeSchedulerConfig writes the scheduler's configuration file. Pods that
// found no node are tried again after a second and not after up to ten.
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

// writeAuditPolicy has every request recorded once, when it was answered (a
// watch: when it began, and when it ended), without its body.
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
