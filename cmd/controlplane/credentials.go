package main

import (
	"fmt"
	"net"
	"os"
)

// The base names of files in pki, in addition to the components' names.
const (
	servingName        = "serving"
	clusterCAName      = "ca"
	proxyCAName        = "front-proxy-ca"
	proxyClientName    = "front-proxy-client"
	serviceAccountName = "service-account"
	adminName          = "admin"
)

// mastersGroup is the group that the API server gives all rights.
const mastersGroup = "system:masters"

// credentials are the credentials of the control plane's clients.
type credentials struct {
	authority *authority
	byName    map[string]credential // client credentials by the client's name
}

// issueCredentials makes the authorities and all certificates, and writes the files that components read.
func issueCredentials(l *layout) (*credentials, error) {
	ca, err := newAuthority("controlplane-ca")
	if err != nil {
		return nil, err
	}
	proxyCA, err := newAuthority("controlplane-front-proxy-ca")
	if err != nil {
		return nil, err
	}
	serving, err := ca.server("controlplane-serving", []net.IP{loopback(), serviceAddress()}, []string{
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	})
	if err != nil {
		return nil, err
	}
	proxyClient, err := proxyCA.client(proxyClientName)
	if err != nil {
		return nil, err
	}
	if err := ensureServiceAccountKey(l.key(serviceAccountName)); err != nil {
		return nil, err
	}
	files := map[string][]byte{
		l.certificate(clusterCAName):   ca.pem,
		l.certificate(proxyCAName):     proxyCA.pem,
		l.certificate(servingName):     serving.certificate,
		l.key(servingName):             serving.key,
		l.certificate(proxyClientName): proxyClient.certificate,
		l.key(proxyClientName):         proxyClient.key,
	}
	for path, data := range files {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return nil, fmt.Errorf("write credential: %w", err)
		}
	}
	clients := &credentials{authority: ca, byName: map[string]credential{}}
	for _, name := range []string{adminName, controllerManagerName, schedulerName, garbageCollectorName, kwokName} {
		if clients.byName[name], err = ca.client("system:"+name, groupsOf(name)...); err != nil {
			return nil, err
		}
	}
	return clients, nil
}

// groupsOf lists the groups of a client. The scheduler has a default role. The others would need one role per
// controller, so they are masters.
func groupsOf(name string) []string {
	if name == schedulerName {
		return nil
	}
	return []string{mastersGroup}
}

func loopback() net.IP { return net.IPv4(127, 0, 0, 1) }

// serviceAddress is the first address of serviceRange, which the API server
// gives to the Service "kubernetes".
func serviceAddress() net.IP { return net.IPv4(10, 96, 0, 1) }

// serviceRange is kubeadm's default. It has room for a million Services.
const serviceRange = "10.96.0.0/12"
