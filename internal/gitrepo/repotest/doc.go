// Package repotest makes a person's clone and the store of its project for the tests of
// gitrepo and of the packages below it, runs git as a person would, and ends it at each of
// its calls. Its git is the one of the machine.
package repotest
