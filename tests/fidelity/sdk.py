"""The AWS SDK for Python against the embedded CloudFormation.

Usage: sdk.py URL
"""

import json
import sys
import time

import boto3
import botocore
from botocore.config import Config

URL = sys.argv[1]
ACCOUNT = "111111111111"
SETTINGS = {
    "endpoint_url": URL,
    "region_name": "eu-west-1",
    "aws_access_key_id": ACCOUNT,
    "aws_secret_access_key": "any",
}
CONFIG = Config(retries={"max_attempts": 1}, s3={"addressing_style": "path"})


def client(name):
    return boto3.client(name, config=CONFIG, **SETTINGS)


cloudformation, s3, sts, ssm = (client(name) for name in ("cloudformation", "s3", "sts", "ssm"))


def queue(**properties):
    return {"Type": "AWS::SQS::Queue", "Properties": properties}


def template(**resources):
    return json.dumps({"Resources": resources})


def refused(code, call, **arguments):
    try:
        call(**arguments)
    except botocore.exceptions.ClientError as error:
        assert error.response["Error"]["Code"] == code, error
        return error.response["Error"]["Message"]
    raise AssertionError(f"{code} was expected")


def status(name):
    return cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]


def physical(stack, logical_id):
    answer = cloudformation.describe_stack_resource(StackName=stack, LogicalResourceId=logical_id)
    return answer["StackResourceDetail"]["PhysicalResourceId"]


def who_we_are():
    assert sts.get_caller_identity()["Account"] == ACCOUNT
    role = "arn:aws:iam::222222222222:role/deploy"
    keys = sts.assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
    other = boto3.client(
        "sts",
        endpoint_url=URL,
        region_name="eu-west-1",
        aws_access_key_id=keys["AccessKeyId"],
        aws_secret_access_key=keys["SecretAccessKey"],
        aws_session_token=keys["SessionToken"],
    )
    assert other.get_caller_identity()["Account"] == "222222222222"
    assert ssm.get_parameter(Name="/cdk-bootstrap/hnb659fds/version")["Parameter"]["Value"]


def create_update_fail():
    cloudformation.create_stack(StackName="A", TemplateBody=template(Q=queue(), R=queue()))
    cloudformation.get_waiter("stack_create_complete").wait(StackName="A", WaiterConfig={"Delay": 1})
    before = physical("A", "Q")
    cloudformation.update_stack(
        StackName="A", TemplateBody=template(Q=queue(DelaySeconds=5), R=queue())
    )
    cloudformation.get_waiter("stack_update_complete").wait(StackName="A", WaiterConfig={"Delay": 1})
    assert physical("A", "Q") == before
    message = refused(
        "ValidationError",
        cloudformation.update_stack,
        StackName="A",
        TemplateBody=template(Q=queue(DelaySeconds=5), R=queue()),
    )
    assert message == "No updates are to be performed.", message
    message = refused("ValidationError", cloudformation.describe_stacks, StackName="None")
    assert message == "Stack with id None does not exist", message
    refused("AlreadyExistsException", cloudformation.create_stack, StackName="A", TemplateBody=template(Q=queue()))
    cloudformation.create_stack(StackName="Taken", TemplateBody=template(Q=queue(QueueName="one")))
    cloudformation.create_stack(StackName="Loses", TemplateBody=template(Q=queue(QueueName="one")))
    assert status("Loses") == "ROLLBACK_COMPLETE"
    events = cloudformation.describe_stack_events(StackName="Loses")["StackEvents"]
    failed = [event for event in events if event["ResourceStatus"] == "CREATE_FAILED"]
    assert failed and "already exists" in failed[0]["ResourceStatusReason"], events
    cloudformation.delete_stack(StackName="Loses")
    cloudformation.get_waiter("stack_delete_complete").wait(StackName="Loses", WaiterConfig={"Delay": 1})


def change_sets():
    answer = cloudformation.create_change_set(
        StackName="A",
        ChangeSetName="more",
        TemplateBody=template(Q=queue(DelaySeconds=9), R=queue(), S=queue()),
    )
    cloudformation.get_waiter("change_set_create_complete").wait(
        ChangeSetName=answer["Id"], WaiterConfig={"Delay": 1}
    )
    described = cloudformation.describe_change_set(ChangeSetName=answer["Id"])
    actions = {
        change["ResourceChange"]["LogicalResourceId"]: change["ResourceChange"]["Action"]
        for change in described["Changes"]
    }
    assert actions == {"Q": "Modify", "S": "Add"}, actions
    cloudformation.execute_change_set(ChangeSetName=answer["Id"])
    cloudformation.get_waiter("stack_update_complete").wait(StackName="A", WaiterConfig={"Delay": 1})


def refactor():
    cloudformation.create_stack(StackName="B", TemplateBody=template(Z=queue()))
    kept = physical("A", "Q")
    refactor_id = cloudformation.create_stack_refactor(
        Description="from the SDK for Python",
        StackDefinitions=[
            {"StackName": "A", "TemplateBody": template(R=queue(), S=queue())},
            {"StackName": "B", "TemplateBody": template(Z=queue(), Moved=queue(DelaySeconds=9))},
        ],
        ResourceMappings=[
            {
                "Source": {"StackName": "A", "LogicalResourceId": "Q"},
                "Destination": {"StackName": "B", "LogicalResourceId": "Moved"},
            }
        ],
    )["StackRefactorId"]
    cloudformation.get_waiter("stack_refactor_create_complete").wait(
        StackRefactorId=refactor_id, WaiterConfig={"Delay": 1}
    )
    actions = cloudformation.list_stack_refactor_actions(StackRefactorId=refactor_id)
    (action,) = actions["StackRefactorActions"]
    assert (action["Action"], action["Entity"], action["Detection"]) == ("MOVE", "RESOURCE", "MANUAL")
    assert action["PhysicalResourceId"] == kept
    cloudformation.execute_stack_refactor(StackRefactorId=refactor_id)
    cloudformation.get_waiter("stack_refactor_execute_complete").wait(
        StackRefactorId=refactor_id, WaiterConfig={"Delay": 1}
    )
    for _ in range(50):
        if status("A") == status("B") == "UPDATE_COMPLETE":
            break
        time.sleep(0.1)
    assert physical("B", "Moved") == kept
    listed = cloudformation.list_stack_refactors(ExecutionStatusFilter=["EXECUTE_COMPLETE"])
    assert [one["StackRefactorId"] for one in listed["StackRefactorSummaries"]] == [refactor_id]
    refused(
        "StackRefactorNotFoundException",
        cloudformation.describe_stack_refactor,
        StackRefactorId="00000000-0000-0000-0000-000000000000",
    )
    failed = cloudformation.create_stack_refactor(
        StackDefinitions=[
            {"StackName": "A", "TemplateBody": template(S=queue(DelaySeconds=1))},
            {"StackName": "B", "TemplateBody": template(Z=queue(), Moved=queue(DelaySeconds=9), R=queue())},
        ]
    )["StackRefactorId"]
    described = cloudformation.describe_stack_refactor(StackRefactorId=failed)
    assert described["Status"] == "CREATE_FAILED", described
    assert "Modify" in described["StatusReason"], described


def exports():
    producer = {
        "Resources": {"Q": queue()},
        "Outputs": {"O": {"Value": {"Ref": "Q"}, "Export": {"Name": "shared"}}},
    }
    consumer = {"Resources": {"Q": queue(Tags=[{"Key": "k", "Value": {"Fn::ImportValue": "shared"}}])}}
    cloudformation.create_stack(StackName="Producer", TemplateBody=json.dumps(producer))
    cloudformation.create_stack(StackName="Consumer", TemplateBody=json.dumps(consumer))
    assert [export["Name"] for export in cloudformation.list_exports()["Exports"]] == ["shared"]
    assert cloudformation.list_imports(ExportName="shared")["Imports"] == ["Consumer"]
    cloudformation.delete_stack(StackName="Producer")
    assert status("Producer") == "CREATE_COMPLETE"


def pages():
    many = {f"Q{number}": queue() for number in range(230)}
    s3.put_object(Bucket="templates", Key="many.json", Body=template(**many).encode())
    cloudformation.create_stack(
        StackName="Many", TemplateURL="https://templates.s3.eu-west-1.amazonaws.com/many.json"
    )
    pages = list(cloudformation.get_paginator("list_stack_resources").paginate(StackName="Many"))
    assert [len(page["StackResourceSummaries"]) for page in pages] == [100, 100, 30]
    body = cloudformation.get_template(StackName="Many", TemplateStage="Original")["TemplateBody"]
    assert len(body["Resources"]) == 230
    for number in range(120):
        cloudformation.create_stack(StackName=f"Small{number}", TemplateBody=template(Q=queue()))
    listed = cloudformation.get_paginator("list_stacks").paginate(StackStatusFilter=["CREATE_COMPLETE"])
    names = {stack["StackName"] for page in listed for stack in page["StackSummaries"]}
    assert {f"Small{number}" for number in range(120)} <= names


def buckets():
    s3.put_object(Bucket="assets", Key="a/b c+d.txt", Body=b"contents")
    assert s3.get_object(Bucket="assets", Key="a/b c+d.txt")["Body"].read() == b"contents"
    assert s3.head_object(Bucket="assets", Key="a/b c+d.txt")["ContentLength"] == 8
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket="assets", Prefix="a/")["Contents"]]
    assert keys == ["a/b c+d.txt"], keys
    refused("NoSuchKey", s3.get_object, Bucket="assets", Key="none")
    refused("404", s3.head_object, Bucket="assets", Key="none")


for step in (who_we_are, create_update_fail, change_sets, refactor, exports, pages, buckets):
    step()
    print("ok", step.__name__)
