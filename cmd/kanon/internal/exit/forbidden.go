package exit

import (
	"errors"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// denied is what the authorizers of the API server say, in which the verb and the namespace stand nowhere else.
var denied = regexp.MustCompile(
	`cannot (\S+) resource "([^"]+)" in API group "([^"]*)" (?:in the namespace "([^"]+)"|at the cluster scope)`)

// Message is an error for the person who called. To one about a right that is missing it adds how to check and get that.
func Message(err error) string {
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
