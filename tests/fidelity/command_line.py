"""The AWS command line against the embedded CloudFormation.

Usage: command_line.py URL AWS
"""

import json
import os
import subprocess
import sys
import tempfile

URL, AWS = sys.argv[1:3]
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": tempfile.mkdtemp(),
    "AWS_ACCESS_KEY_ID": "111111111111",
    "AWS_SECRET_ACCESS_KEY": "any",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_PAGER": "",
    "AWS_MAX_ATTEMPTS": "1",
}


def aws(*arguments, fails=False):
    command = [sys.executable, AWS, "--endpoint-url", URL, "--output", "json", *arguments]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (arguments, done.stdout, done.stderr)
    if fails:
        return done.stderr
    return json.loads(done.stdout) if done.stdout.strip().startswith(("{", "[")) else done.stdout


def file(directory, name, document):
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as out:
        json.dump(document, out)
    return path


def main(directory):
    queue = {"Type": "AWS::SQS::Queue"}
    one = file(directory, "one.json", {"Resources": {"Old": queue, "Stays": queue}})
    two = file(directory, "two.json", {"Resources": {"New": queue, "Stays": queue}})
    print("ok", aws("sts", "get-caller-identity")["Account"])
    aws("cloudformation", "create-stack", "--stack-name", "App", "--template-body", f"file://{one}")
    aws("cloudformation", "wait", "stack-create-complete", "--stack-name", "App")
    resources = aws("cloudformation", "list-stack-resources", "--stack-name", "App")
    kept = {r["LogicalResourceId"]: r["PhysicalResourceId"] for r in resources["StackResourceSummaries"]}
    mappings = [
        {
            "Source": {"StackName": "App", "LogicalResourceId": "Old"},
            "Destination": {"StackName": "App", "LogicalResourceId": "New"},
        }
    ]
    refactor = aws(
        "cloudformation", "create-stack-refactor",
        "--stack-definitions", f"StackName=App,TemplateBody@=file://{two}",
        "--resource-mappings", json.dumps(mappings),
    )["StackRefactorId"]
    aws("cloudformation", "wait", "stack-refactor-create-complete", "--stack-refactor-id", refactor)
    actions = aws("cloudformation", "list-stack-refactor-actions", "--stack-refactor-id", refactor)
    assert len(actions["StackRefactorActions"]) == 1, actions
    aws("cloudformation", "execute-stack-refactor", "--stack-refactor-id", refactor)
    aws("cloudformation", "wait", "stack-refactor-execute-complete", "--stack-refactor-id", refactor)
    resource = aws(
        "cloudformation", "describe-stack-resource", "--stack-name", "App", "--logical-resource-id", "New"
    )
    assert resource["StackResourceDetail"]["PhysicalResourceId"] == kept["Old"]
    error = aws("cloudformation", "describe-stacks", "--stack-name", "None", fails=True)
    assert "Stack with id None does not exist" in error, error
    for number in range(3):
        aws("cloudformation", "create-stack", "--stack-name", f"More{number}", "--template-body", f"file://{one}")
    stacks = aws("cloudformation", "list-stacks", "--stack-status-filter", "CREATE_COMPLETE")
    assert len(stacks["StackSummaries"]) == 3, stacks
    aws("s3", "cp", one, "s3://assets/one.json")
    aws("s3", "cp", "s3://assets/one.json", os.path.join(directory, "back.json"))
    assert open(os.path.join(directory, "back.json")).read() == open(one).read()
    aws("cloudformation", "delete-stack", "--stack-name", "App")
    aws("cloudformation", "wait", "stack-delete-complete", "--stack-name", "App")
    print("ok command line")


with tempfile.TemporaryDirectory() as directory:
    main(directory)
