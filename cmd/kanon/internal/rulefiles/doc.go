// Package rulefiles is how a command takes rules in files: the flags, the limits of evaluation, and what is wrong with the rules on
// standard error.
//
//	checked, kinds, err := rulefiles.Read(cmd, args, schemas, rules.Options{Namespace: namespace, Limits: limits})
//	if err != nil {
//		return err // what is wrong with the rules has been printed
//	}
//	for _, program := range checked.Programs {
package rulefiles
