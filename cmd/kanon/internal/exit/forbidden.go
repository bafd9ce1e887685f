package exit

import (
	"crypto/tls"
	"errors"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kanon.dev/kanon/manager/apiserver"
)

// denied is what the authorizers of the API server say, in which the verb and the namespace stand nowhere else.
var denied = regexp.MustCompile(
	`cannot (\S+) resource "([^"]+)" in API group "([^"]*)" (?:in the namespace "([^"]+)"|at the cluster scope)`)

// Message is an error for the person who called. To one about credentials, a certificate, an address that is no API server's or a right
// that is missing it adds what to do.
func Message(err error) string {
	if next := nextStep(err); next != "" {
		return err.Error() + "; " + next
	}
	return withRight(err)
}

// nextStep is what to do about an answer that says that this end has the wrong credentials, certificate or address; empty for others.
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

// withRight is an error with how to check and get the right that is missing, if it is about one.
func withRight(err error) string {
	text := err.Error()
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || !apierrors.IsForbidden(err) {
		return text
	}
	right := denied.FindStringSubmatch(status.Status().Message)
	if right == nil {
		return text // admission, such as a quota
	}
	return text + "; ask whoever administers the cluster for this right; '" + canI(right[1], right[2], right[3], right[4]) + "' tells whether you have it"
}

// canI is the command that checks a right.
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
