package exit

import (
	"crypto/tls"
	"errors"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kanon.dev/kanon/manager/apiserver"
)

// denied matches the messages of authorizers. Verb and namespace are only in this text.
var denied = regexp.MustCompile(
	`cannot (\S+) resource "([^"]+)" in API group "([^"]*)" (?:in the namespace "([^"]+)"|at the cluster scope)`)

// Message is the text of an error for the caller. For errors about credentials, certificates, addresses and missing
// rights, it adds what to do.
func Message(err error) string {
	if next := nextStep(err); next != "" {
		return err.Error() + "; " + next
	}
	return withRight(err)
}

// nextStep says what to do if the caller's credentials, certificate or address are wrong; empty for other errors.
func nextStep(err error) string {
	switch {
	case apierrors.IsUnauthorized(err):
		return "log in again, or choose another user with --user or --context"
	case errors.Is(err, apiserver.ErrNoVersion):
		return "check that this is the address of the API server, and not of a proxy or a login page"
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "check certificate-authority and server of the cluster in the kubeconfig"
	}
	return ""
}

// withRight is the text of an error. If a right is missing, it adds how to check and get the right.
func withRight(err error) string {
	text := err.Error()
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || !apierrors.IsForbidden(err) {
		return text
	}
	right := denied.FindStringSubmatch(status.Status().Message)
	if right == nil {
		return text // refused by admission, for example by a quota
	}
	return text + "; ask whoever administers the cluster for this right; '" + canI(right[1], right[2], right[3], right[4]) + "' tells whether you have it"
}

// canI is the kubectl command that checks a right.
func canI(verb, resource, group, namespace string) string {
	resource, subresource, _ := strings.Cut(resource, "/")
	command := "kubectl auth can-i " + verb + " " + resource
	if group != "" {
		command += "." + group
	}
	if subresource != "" {
		command += " --subresource=" + subresource
	}
	if namespace != "" {
		return command + " -n " + namespace
	}
	return command + " -A"
}
