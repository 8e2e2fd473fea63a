// Command towpath runs agent workflows kept as plain folders and Markdown.
package main

func main() {}
